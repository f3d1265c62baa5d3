package fuzzing

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestInputsAreBounded(t *testing.T) {
	const plenty = 1 << 40
	held := make([]byte, 64<<20)
	cases := map[string]struct {
		limit  time.Duration
		memory uint64
		want   string
	}{
		"time":   {time.Millisecond, plenty, "the input takes longer than 1ms"},
		"memory": {time.Hour, 32 << 20, "more than 32 MiB"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			failed := make(chan string, 1)
			got, ok := within(func(t *testing.T, input int) {
				if input != 7 {
					t.Errorf("the input is %d", input)
				}
				if reason := <-failed; !strings.Contains(reason, c.want) {
					t.Errorf("got %q, want %q", reason, c.want)
				}
			}, c.limit, c.memory, func(reason string) { failed <- reason }).(func(*testing.T, int))
			if !ok {
				t.Fatal("the type of the target has changed")
			}
			got(t, 7)
		})
	}
	held[0] = 1
}

func TestTheStackIsBoundedAndTheBoundsAreRestored(t *testing.T) {
	restore := limitProcess()
	if got := debug.SetMaxStack(maxStack); got != maxStack {
		t.Errorf("the stack is bounded to %d bytes, want %d", got, maxStack)
	}
	restore()
	if got := debug.SetMaxStack(maxStack); got == maxStack {
		t.Error("the bound of the stack is not restored")
	} else {
		debug.SetMaxStack(got)
	}
}

func FuzzRun(f *testing.F) {
	f.Add("a", []byte("b"), 1)
	Run(f, func(t *testing.T, text string, bytes []byte, number int) { t.Log(len(text), len(bytes), number) })
}
