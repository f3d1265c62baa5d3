package merge

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lines returns a text whose first and last lines are so far apart that git merges changes of both without a conflict.
func lines(first, last string) []byte {
	return []byte(first + strings.Repeat("\nsame", 10) + "\n" + last + "\n")
}

// onWindows returns a text with the line ends that git writes on Windows.
func onWindows(text []byte) []byte { return []byte(strings.ReplaceAll(string(text), "\n", "\r\n")) }

// oddly returns a text with line ends of Windows, except for a line that ends with a line feed alone.
func oddly(text []byte) []byte {
	return []byte(strings.Replace(string(onWindows(text)), "same\r\n", "same\n", 1))
}

func TestVersionsOfAFileAreMerged(t *testing.T) {
	previous, mine, newer, both := lines("a", "z"), lines("a", "mine"), lines("newer", "z"), lines("newer", "mine")
	for name, test := range map[string]struct {
		v    Versions
		verb Verb
		want []byte
	}{
		"nothing changed": {Versions{previous, previous, previous}, "", nil},
		"the template changed the file": {
			Versions{previous, previous, newer},
			VerbUpdate, newer,
		},
		"the template and a person changed the file":     {Versions{previous, mine, newer}, VerbMerge, both},
		"the template and a person made the same change": {Versions{previous, newer, newer}, "", nil},
		"the file is new in the template":                {Versions{nil, nil, newer}, VerbCreate, newer},
		"the template no longer has the file":            {Versions{previous, previous, nil}, VerbDelete, nil},
		"a person removed the content of the file":       {Versions{previous, []byte{}, previous}, "", nil},
		"line ends of Windows in the project, no changes": {
			Versions{previous, onWindows(previous), previous},
			"", nil,
		},
		"line ends of Windows in the project and the template, no changes": {Versions{
			onWindows(previous), onWindows(previous),
			previous,
		}, "", nil},
		"line ends of Windows in the project, the template changed the file": {
			Versions{previous, onWindows(previous), newer},
			VerbUpdate,
			onWindows(newer),
		},
		"line ends of Windows in the project, the template and a person changed the file": {
			Versions{previous, onWindows(mine), newer},
			VerbMerge,
			onWindows(both),
		},
		"line ends of Windows in all lines but one, the template changed the file": {
			Versions{previous, oddly(previous), newer},
			VerbUpdate,
			onWindows(newer),
		},
		"line ends of Windows in all lines but one, the template and a person changed the file": {Versions{
			previous,
			oddly(mine), newer,
		}, VerbMerge, onWindows(both)},
		"a line end of Windows in only one line": {
			Versions{previous, lines("a", "mine\r"), newer},
			VerbMerge,
			lines("newer", "mine\r"),
		},
		"line ends of Windows in the project, the template no longer has the file": {
			Versions{previous, onWindows(previous), nil},
			VerbDelete, nil,
		},
		"a person deleted or renamed the file":                               {Versions{previous, nil, newer}, "", nil},
		"a person deleted the file, and the template no longer has the file": {Versions{previous, nil, nil}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			change, conflicts, err := test.v.Merge(t.Context(), "Makefile")
			if err != nil || len(conflicts) > 0 {
				t.Fatalf("the merge returned the conflicts %v and the error %v, want neither", conflicts, err)
			}
			var verb Verb
			var content []byte
			if change != nil {
				verb, content = change.Verb, change.Content
			}
			if verb != test.verb || string(content) != string(test.want) {
				t.Errorf("the merge has the verb %q and the content %q, want %q and %q", verb, content, test.verb, test.want)
			}
		})
	}
}

func TestWhatCannotBeMergedIsAConflictOfTheWholeFile(t *testing.T) {
	previous, newer := lines("a", "z"), lines("newer", "z")
	for name, test := range map[string]struct {
		v    Versions
		want string
	}{
		"a file that is new in the template and in the project": {Versions{nil, previous, newer}, "rename your file"},
		"a file that a person changed and the template no longer has": {
			Versions{previous, newer, nil},
			"rename it, or delete it with your changes",
		},
		"a binary file": {Versions{previous, []byte("\x7fELF\x00"), newer}, "your file is not a text"},
	} {
		t.Run(name, func(t *testing.T) {
			change, conflicts, err := test.v.Merge(t.Context(), "Makefile")
			if err != nil || change != nil || len(conflicts) != 1 || conflicts[0].Line != 0 ||
				!strings.Contains(conflicts[0].Why, test.want) {
				t.Errorf("the merge returned the change %v, the conflicts %v and the error %v", change, conflicts, err)
			}
		})
	}
}

func TestAFileThatIsNotThereIsLeftOutOnlyWhereTheTemplateChangedIt(t *testing.T) {
	previous, newer := lines("a", "z"), lines("newer", "z")
	for name, test := range map[string]struct {
		v    Versions
		want bool
	}{
		"changed":            {Versions{previous, nil, newer}, true},
		"unchanged template": {Versions{previous, nil, previous}, false},
		"unchanged template, with line ends of Windows": {Versions{onWindows(previous), nil, previous}, false},
		"new":                                    {Versions{nil, nil, newer}, false},
		"there":                                  {Versions{previous, previous, newer}, false},
		"no longer in the template, and deleted": {Versions{previous, nil, nil}, false},
	} {
		if got := test.v.IsLeftOut(); got != test.want {
			t.Errorf("%s: IsLeftOut returned %t, want %t", name, got, test.want)
		}
	}
}

func TestConflictsHaveTheLinesOfThePersonsFileWhateverGitShows(t *testing.T) {
	for _, style := range []string{"merge", "diff3", "zdiff3"} {
		t.Run(style, func(t *testing.T) {
			// The folder becomes a git repository, because git reads the configuration only in a repository.
			repository := filepath.Join(t.TempDir(), ".git")
			if output, err := exec.CommandContext(t.Context(), "git", "init", "-q",
				filepath.Dir(repository)).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			t.Setenv("GIT_DIR", repository)
			t.Setenv("GIT_CONFIG_COUNT", "1")
			t.Setenv("GIT_CONFIG_KEY_0", "merge.conflictStyle")
			t.Setenv("GIT_CONFIG_VALUE_0", style)
			// The person's text contains a line that looks like a marker between the two conflicts.
			const between = "\nsame\nsame\nsame\nHeading\n=======\nsame\nsame\nsame\n"
			_, conflicts, err := mergeText(t.Context(), "README.md", []byte("a\nb"+between+"z\n"),
				[]byte("mine\nb"+between+"mine\n"), []byte("newer\nb"+between+"newer\n"))
			if err != nil || len(conflicts) != 2 || conflicts[0].Line != 1 || conflicts[1].Line != 11 {
				t.Errorf("the merge returned the conflicts %v and the error %v, want conflicts in the lines 1 and 11",
					conflicts, err)
			}
		})
	}
}
