package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/lab/markdown"
)

var update = flag.Bool("update", false, "renew the golden files")

// The budgets are in a golden file, so that a change of a budget is visible in a review.
func TestBudgetsAreThoseThatWereSet(t *testing.T) {
	var out strings.Builder
	for _, s := range scenarios {
		markdown.WriteTable(&out, [][]string{{"#", "scenario", "budget"}, {number(float64(s.number)), s.title, s.budget}})
		for _, l := range s.limits(s.full) {
			relation := "at most"
			if l.below {
				relation = "less than"
			}
			out.WriteString(strings.TrimSpace(strings.Join([]string{l.part, relation, number(l.most), string(l.figure)}, " ")) +
				"\n")
		}
		out.WriteString("\n")
	}
	golden(t, "budgets.txt", out.String())
}

func TestScenariosAreNumberedInTheirOrder(t *testing.T) {
	for i, s := range scenarios {
		if s.number != i+1 {
			t.Errorf("scenario %d has position %d in the table", s.number, i+1)
		}
	}
}

func TestNumbersOfScenariosAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "1,12": "", "15": `scenario "15" does not exist`,
		"one": `scenario "one" does not exist`, "0": `scenario "0" does not exist`,
	} {
		_, err := parseNumbers(text)
		if got := message(err); got != want {
			t.Errorf("the flag -scenario %q: want the error %q, got %q", text, want, got)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the budgets differ from the golden file %s: want\n%s\ngot\n%s", path, want, got)
	}
}
