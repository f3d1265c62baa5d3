package progress_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

func TestActivity(t *testing.T) {
	const erase = "\r\x1b[K"
	for _, c := range []struct {
		name string
		work func(b *progress.Activity)
		want string
	}{
		{"shows no line for work of less than a second", func(*progress.Activity) { time.Sleep(900 * time.Millisecond) }, ""},
		{
			"shows the elapsed time, always on the same line", func(*progress.Activity) { time.Sleep(2500 * time.Millisecond) },
			erase + "first (1s)" + erase + "first (2s)" + erase,
		},
		{"shows the latest text", func(b *progress.Activity) {
			time.Sleep(900 * time.Millisecond)
			b.Begin("second\x1b[2J")
			time.Sleep(200 * time.Millisecond)
		}, erase + "second�[2J (1s)" + erase},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var screen strings.Builder
				b := progress.ActivityOn(&screen)
				b.Begin("first")
				c.work(b)
				b.End()
				synctest.Wait()
				if screen.String() != c.want {
					t.Errorf("want the terminal output %q, got %q", c.want, screen.String())
				}
			})
		})
	}
}

func TestActivityEndsBeforeTheOutputOfTheCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen bytes.Buffer
		b := progress.ActivityOn(&screen)
		out := b.Before(&screen)
		b.Begin("at it")
		time.Sleep(1500 * time.Millisecond)
		if _, err := out.Write([]byte("Ready\n")); err != nil {
			t.Fatal(err)
		}
		b.Begin("at it again")
		time.Sleep(5 * time.Second)
		if want := "\r\x1b[Kat it (1s)\r\x1b[KReady\n"; screen.String() != want {
			t.Errorf("want the terminal output %q, got %q", want, screen.String())
		}
	})
}

func TestActivityShowsNothingWithoutATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := progress.NewActivity(&log)
		b.Begin("at it")
		time.Sleep(5 * time.Second)
		b.End()
		if log.Len() > 0 {
			t.Errorf("an activity wrote %q to a log, want no output", log.String())
		}
	})
}
