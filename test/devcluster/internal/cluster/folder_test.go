package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClaimFolder(t *testing.T) {
	t.Run("creates a folder that does not exist", func(t *testing.T) {
		folder := claim(t, filepath.Join(t.TempDir(), "new", "cluster"))
		if _, err := os.Stat(folder.file(logFolder)); err != nil {
			t.Error(err)
		}
	})
	t.Run("refuses a folder in use, and accepts it after its release", func(t *testing.T) {
		dir := t.TempDir()
		first := claim(t, dir)
		wantUsageError(t, dir, "in use")
		if err := first.Release(); err != nil {
			t.Fatal(err)
		}
		claim(t, dir)
	})
	t.Run("removes the files of an earlier cluster", func(t *testing.T) {
		dir := t.TempDir()
		first := claim(t, dir)
		if err := first.write([]byte("old"), kubeconfigFile); err != nil {
			t.Fatal(err)
		}
		if err := first.Release(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(claim(t, dir).Kubeconfig()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("want no file, got %v", err)
		}
	})
	t.Run("refuses a folder with other files, and does not change them", func(t *testing.T) {
		dir := t.TempDir()
		letter := filepath.Join(dir, pkiFolder)
		if err := os.WriteFile(letter, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		wantUsageError(t, dir, "contains other files")
		if _, err := os.Stat(letter); err != nil {
			t.Error(err)
		}
	})
	t.Run("refuses a path that is a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		wantUsageError(t, file, "cannot be read")
	})
}

func claim(t *testing.T, dir string) Folder {
	t.Helper()
	folder, err := ClaimFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Release() })
	return folder
}

func wantUsageError(t *testing.T, dir, text string) {
	t.Helper()
	_, err := ClaimFolder(dir)
	if !errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), text) {
		t.Errorf("want a UsageError with %q, got %v", text, err)
	}
}
