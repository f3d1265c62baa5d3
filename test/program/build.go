package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Build builds programs of the project for a test; to is the file, or with a slash at its end the folder, relative to
// root. The go command skips programs that are up to date. Because the go command caches test results until a file that
// the test has read changes, Build reads the folders of the programs' sources.
func Build(ctx context.Context, root, to string, programs ...string) error {
	run := func(arguments ...string) (string, error) {
		command := exec.CommandContext(context.WithoutCancel(ctx), "go", arguments...)
		command.Dir = root
		output, err := command.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, output)
		}
		return string(output), nil
	}
	if _, err := run(append([]string{"build", "-buildvcs=false", "-o", to}, programs...)...); err != nil {
		return err
	}
	list := append([]string{"list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}"}, programs...)
	folders, err := run(list...)
	if err != nil {
		return err
	}
	for folder := range strings.FieldsSeq(folders) {
		if _, err := os.ReadDir(folder); err != nil {
			return err
		}
	}
	return nil
}
