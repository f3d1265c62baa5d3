package rendering_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

func TestReadFilesIsInOrderAndLeavesOutWhatIsSkipped(t *testing.T) {
	source := fstest.MapFS{"b/x": {Data: []byte("1")}, "a": {Data: []byte("2")}, "c/y": {}, "skip": {}, "b/skip": {}}
	files, err := rendering.ReadFiles(
		source,
		func(name string, _ fs.FileInfo) bool { return name == "c" || strings.HasSuffix(name, "skip") },
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []rendering.File{{Name: "a", Data: []byte("2")}, {Name: "b/x", Data: []byte("1")}}
	if difference := cmp.Diff(want, files); difference != "" {
		t.Errorf("-want +got:\n%s", difference)
	}
}

func TestReadFilesFollowsLinksToFilesOnly(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(folder, "b")); err != nil {
		t.Fatal(err)
	}
	files, err := rendering.ReadFiles(os.DirFS(folder), nil)
	if err != nil || len(files) != 2 || string(files[1].Data) != "1" {
		t.Errorf("got %v, %v", files, err)
	}
	if err := os.Symlink(".", filepath.Join(folder, "c")); err != nil {
		t.Fatal(err)
	}
	if _, err := rendering.ReadFiles(os.DirFS(folder), nil); err == nil ||
		!strings.Contains(err.Error(), "c is not a regular file") {
		t.Errorf("got %v", err)
	}
}

func TestReadFilesHasBounds(t *testing.T) {
	source := fstest.MapFS{"large": {Data: make([]byte, rendering.MaxFileSize+1)}}
	if _, err := rendering.ReadFiles(source, nil); err == nil || !strings.Contains(err.Error(), "large is too large") {
		t.Errorf("got %v", err)
	}
	source["large"].Data = source["large"].Data[1:]
	if _, err := rendering.ReadFiles(source, nil); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestParsedParsesEachDigestOnce(t *testing.T) {
	failure := errors.New("not now")
	var calls []string
	var fail bool
	parsed, err := rendering.NewParsed(nil, func(source fs.FS) (string, error) {
		text, err := fs.ReadFile(source, "a")
		calls = append(calls, string(text))
		if fail {
			return "", failure
		}
		return string(text), err
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(digest, text string) (string, error) {
		return parsed.For(generator.Request{Source: fstest.MapFS{"a": {Data: []byte(text)}}, SourceDigest: digest})
	}
	for _, request := range []struct{ digest, text string }{
		{"1", "one"},
		{"1", "one"},
		{"2", "two"},
		{"1", "one"},
		{"", "none"},
		{"", "none"},
	} {
		if got, err := ask(request.digest, request.text); err != nil || got != request.text {
			t.Errorf("want %s, got %s, %v", request.text, got, err)
		}
	}
	fail = true
	if _, err := ask("3", "three"); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	fail = false
	if got, err := ask("3", "three"); err != nil || got != "three" {
		t.Errorf("an error of a rendering was cached: got %s, %v", got, err)
	}
	if difference := cmp.Diff([]string{"one", "two", "none", "none", "three", "three"}, calls); difference != "" {
		t.Errorf("-want +got:\n%s", difference)
	}
}

func TestDetached(t *testing.T) {
	t.Run("returns a panic as an error", func(t *testing.T) {
		_, err := rendering.Detached(t.Context(), func() ([]client.Object, error) { panic("no way") })
		if err == nil || !strings.Contains(err.Error(), "panicked: no way") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("does not wait for a rendering that continues after its context ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		defer close(release)
		_, err := rendering.Detached(ctx, func() ([]client.Object, error) {
			cancel()
			<-release
			return nil, nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("does not start a rendering when its context has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := rendering.Detached(ctx, func() ([]client.Object, error) {
			t.Error("a rendering was started although its context had ended")
			return nil, nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWithin(t *testing.T) {
	t.Run("ends a rendering at the time limit, with an error that names the limit", func(t *testing.T) {
		_, err := rendering.Within(t.Context(), time.Nanosecond, func(ctx context.Context) ([]client.Object, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if err == nil || err.Error() != "rendering takes longer than the limit of 1ns" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("returns the error of the caller's context unchanged", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := rendering.Within(ctx, time.Hour, func(ctx context.Context) ([]client.Object, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
