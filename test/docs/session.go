package docs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Session is a shell for one page. Folder, and exported variables, last from one block to the next.
type Session struct {
	// Dir is where the page's commands begin.
	Dir         string
	state       string
	environment []string
}

// NewSession makes a session in a folder, which it fills with links to what the project's root holds: what a page
// writes does not get there. The state is a file that is not there yet.
func NewSession(root, dir, state string, environment []string) (*Session, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if err := os.Symlink(filepath.Join(root, entry.Name()), filepath.Join(dir, entry.Name())); err != nil {
			return nil, err
		}
	}
	return &Session{Dir: dir, state: state, environment: environment}, nil
}

// prelude brings back what the last block left, and sees to it that this one leaves its own.
const prelude = `set -eo pipefail
if [ -f "$DOCS_STATE" ]; then . "$DOCS_STATE"; fi
trap 'code=$?; { export -p; printf "cd %q\n" "$PWD"; } > "$DOCS_STATE"; exit $code' EXIT
`

// Run runs a script by bash, and returns what it prints, errors too. Its first command that fails ends it.
func (s *Session) Run(ctx context.Context, script string) (string, error) {
	return s.bash(ctx, "-c", prelude+script)
}

// Check reads a script without running it.
func (s *Session) Check(ctx context.Context, script string) error {
	if out, err := s.bash(ctx, "-n", "-c", script); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// Write writes a file of the page's folder, and makes the folders that it needs.
func (s *Session) Write(file, content string) error {
	path := filepath.Join(s.Dir, filepath.FromSlash(file))
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return fmt.Errorf("file %q leaves the page's folder", file)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

func (s *Session) bash(ctx context.Context, arguments ...string) (string, error) {
	var out bytes.Buffer
	command := exec.CommandContext(ctx, "bash", arguments...)
	command.Dir, command.Stdout, command.Stderr = s.Dir, &out, &out
	command.Env = append([]string{"DOCS_STATE=" + s.state}, s.environment...)
	// A group of its own, so that what bash started ends with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	err := command.Run()
	if command.Process != nil {
		_ = command.Cancel() // What is left of the group: nobody would end it when the commands before its end failed.
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return out.String(), err
}
