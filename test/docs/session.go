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

// Session is a shell for one page. The working folder and exported variables are kept from one block to the next.
type Session struct {
	// Dir is the folder in which the page's commands start.
	Dir         string
	state       string
	environment []string
}

// NewSession creates a session in the folder dir. It links the files of the project's root into dir, so that a page can
// read them and its new files stay in dir. state is the path of a file that does not exist yet.
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

// prelude restores the folder and variables after the previous block, and saves them at the end of this block.
const prelude = `set -eo pipefail
if [ -f "$DOCS_STATE" ]; then . "$DOCS_STATE"; fi
trap 'code=$?; { export -p; printf "cd %q\n" "$PWD"; } > "$DOCS_STATE"; exit $code' EXIT
`

// Run runs a script with bash, and returns its output and errors. The script ends at the first command that fails.
func (s *Session) Run(ctx context.Context, script string) (string, error) {
	return s.bash(ctx, "-c", prelude+script)
}

// Check parses a script without running it.
func (s *Session) Check(ctx context.Context, script string) error {
	if out, err := s.bash(ctx, "-n", "-c", script); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// Write writes a file in the page's folder, and creates the necessary folders.
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
	// The script is in its own process group, so that all of its processes can be ended together.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	err := command.Run()
	if command.Process != nil {
		_ = command.Cancel() // This ends the remaining processes of the group, which continue if a command failed.
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return out.String(), err
}
