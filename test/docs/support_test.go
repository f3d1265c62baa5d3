package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// find returns the first group of a pattern in a file of the project.
func find(t *testing.T, file, pattern string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(pattern).FindSubmatch(content)
	if match == nil {
		t.Fatalf("%s does not contain %s", file, pattern)
	}
	return string(match[1])
}

// The page about support says on which versions of Kubernetes the tests run, so it changes with the modules.
func TestSupportNamesTheTestedKubernetes(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/support.md"))
	if err != nil {
		t.Fatal(err)
	}
	tested := find(t, "test/devcluster/go.mod", `k8s\.io/kubernetes v1\.(\d+)\.`)
	for row, minor := range map[string]string{
		"all tests":            tested,
		"the client libraries": find(t, "go.mod", `k8s\.io/client-go v0\.(\d+)\.`),
	} {
		if !strings.Contains(string(page), "| 1."+minor+" | "+row) {
			t.Errorf("docs/support.md: want 1.%s in the row of %s", minor, row)
		}
	}
	oldest := find(t, "config/chart/Chart.yaml", `kubeVersion: ">=1\.(\d+)\.`)
	first, err := strconv.Atoi(oldest)
	if err != nil {
		t.Fatal(err)
	}
	last, err := strconv.Atoi(tested)
	if err != nil {
		t.Fatal(err)
	}
	var between []string
	for minor := first; minor < last; minor++ {
		between = append(between, "1."+strconv.Itoa(minor))
	}
	if row := "| " + strings.Join(between, ", ") + " | the chart permits them"; !strings.Contains(string(page), row) {
		t.Errorf("docs/support.md: want the row %q, because the chart permits 1.%s and newer", row, oldest)
	}
}
