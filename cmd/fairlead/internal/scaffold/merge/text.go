package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Conflict is a place in a file that a person and a newer template changed differently.
type Conflict struct {
	File string
	// Line is the first line of the conflict in the person's file. It is 0 if the conflict is about the whole file.
	Line int
	// Why explains the conflict.
	Why string
}

// String returns the place and the reason in the form FILE:LINE: REASON.
func (c Conflict) String() string {
	if c.Line == 0 {
		return c.File + ": " + c.Why
	}
	return fmt.Sprintf("%s:%d: %s", c.File, c.Line, c.Why)
}

// The conflict markers of git.
const (
	noMarker     = ""
	oursMarker   = "<<<<<<<"
	baseMarker   = "|||||||"
	middleMarker = "======="
	theirsMarker = ">>>>>>>"
)

// mergeText merges texts with git merge-file. The result contains conflict markers around lines that the person and the
// template changed differently.
func mergeText(ctx context.Context, file string, base, mine, newer []byte) ([]byte, []Conflict, error) {
	dir, err := os.MkdirTemp("", "fairlead-merge-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for name, content := range map[string][]byte{"mine": mine, "base": base, "newer": newer} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, nil, err
		}
	}
	command := exec.CommandContext(ctx, "git", "merge-file", "-p", "-q", "-L", "yours", "-L", "base", "-L", "template",
		"mine", "base", "newer")
	command.Dir = dir
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	err = command.Run()
	// An exit code below 128 is the number of conflicts. Higher exit codes are errors.
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 && exit.ExitCode() < 128 {
		return out.Bytes(), conflictsIn(file, out.Bytes()), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("merge %s with git: %w: %s", file, err, strings.TrimSpace(errOut.String()))
	}
	return out.Bytes(), nil, nil
}

// conflictsIn returns the conflicts in a merged text, with their lines in the person's text.
func conflictsIn(file string, merged []byte) []Conflict {
	var found []Conflict
	line, part := 1, noMarker
	for text := range strings.Lines(string(merged)) {
		next, begins := partAfter(part, text)
		switch {
		case begins && next == oursMarker:
			found = append(found, Conflict{File: file, Line: line, Why: "changed here, and differently by the template"})
		case !begins && (part == noMarker || part == oursMarker):
			line++
		}
		if begins {
			part = next
		}
	}
	return found
}

// partAfter returns the next part of a merged text, and whether it begins at this line. Part is the part before the
// line. Only the marker that can follow this part is recognised, because other lines may look like markers. The part
// with the base exists only if git is configured to show it.
func partAfter(part, line string) (next string, begins bool) {
	switch part {
	case noMarker:
		return oursMarker, strings.HasPrefix(line, oursMarker+" yours")
	case middleMarker:
		return noMarker, strings.HasPrefix(line, theirsMarker+" template")
	case oursMarker:
		if strings.HasPrefix(line, baseMarker+" base") {
			return baseMarker, true
		}
	}
	return middleMarker, strings.TrimRight(line, "\r\n") == middleMarker
}
