package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestMistakesAreOneLineAndExitCode2(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"no command":           {nil, "a command is missing"},
		"unknown command":      {[]string{"down"}, `"down"`},
		"unknown flag":         {[]string{"up", "--dri", "x"}, "--dri"},
		"unknown flag of user": {[]string{"user", "--grp", "x"}, "--grp"},
		"bad number":           {[]string{"up", "--dir", "x", "--nodes", "many"}, "many"},
		"no folder":            {[]string{"up"}, "--dir"},
		"an argument":          {[]string{"up", "folder"}, `"folder"`},
		"nodes alone":          {[]string{"up", "--dir", "x", "--nodes", "1", "--no-controllers"}, "--no-controllers"},
		"cloud alone":          {[]string{"up", "--dir", "x", "--cloud", "--echo", "--no-controllers"}, "--no-controllers"},
		"echo alone":           {[]string{"up", "--dir", "x", "--echo", "--no-controllers"}, "--no-controllers"},
		"user of no cluster":   {[]string{"user", "--dir", "/nowhere", "--name", "joe"}, "/nowhere"},
		"nameless user":        {[]string{"user", "--dir", "/nowhere"}, "--name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var stdout, stderr bytes.Buffer
			if code := Run(t.Context(), test.arguments, &stdout, &stderr); code != exitUsage {
				t.Errorf("want exit code 2, got %d", code)
			}
			line := stderr.String()
			if strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "devcluster: ") || !strings.Contains(line, test.want) {
				t.Errorf("want one line with %s, got %q", test.want, line)
			}
			if stdout.Len() != 0 {
				t.Errorf("unexpected output: %s", &stdout)
			}
		})
	}
}

func TestHelpIsNoMistake(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"up", "--help"}, &stdout, &stderr); code != exitOK {
		t.Errorf("want exit code 0, got %d", code)
	}
	for _, flag := range []string{"--dir", "--nodes", "--audit", "--cloud", "--echo", "--no-controllers"} {
		if !strings.Contains(stdout.String(), flag) {
			t.Errorf("the help text does not contain the flag %s", flag)
		}
	}
}
