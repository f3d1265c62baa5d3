package main

import (
	"strings"
	"testing"
	"time"
)

func TestRecorderWritesAnAsciicast(t *testing.T) {
	var out strings.Builder
	now := time.Unix(100, 0)
	n := &narrator{out: newRecorder(&out, func() time.Time { return now }), styled: true}
	n.say("An %q.", "explanation")
	now = now.Add(1500 * time.Millisecond)
	n.command("ls", "-l")
	want := `{"version":2,"width":116,"height":34,"title":"make demo"}
[0.000,"o","    An \"explanation\".\r\n"]
[1.500,"o","    \u001b[36m$ ls -l\u001b[0m\r\n"]
`
	if out.String() != want {
		t.Errorf("want %s, got %s", want, out.String())
	}
}
