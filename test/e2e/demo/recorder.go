package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// castWidth and castHeight are the size of the recorded terminal.
const castWidth, castHeight = 116, 34

// recorder writes an asciicast v2: a line with the size of the terminal, and then a line for each output with its time.
// See https://docs.asciinema.org/manual/asciicast/v2/.
type recorder struct {
	out   io.Writer
	now   func() time.Time
	start time.Time
	begun bool
}

func newRecorder(out io.Writer, now func() time.Time) *recorder {
	return &recorder{out: out, now: now, start: now()}
}

// Write records text, as a terminal gets it.
func (r *recorder) Write(text []byte) (int, error) {
	if !r.begun {
		r.begun = true
		_, err := fmt.Fprintf(r.out, "{\"version\":2,\"width\":%d,\"height\":%d,\"title\":\"make demo\"}\n", castWidth, castHeight)
		if err != nil {
			return 0, err
		}
	}
	output, err := json.Marshal(strings.ReplaceAll(string(text), "\n", "\r\n"))
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintf(r.out, "[%.3f,\"o\",%s]\n", r.now().Sub(r.start).Seconds(), output); err != nil {
		return 0, err
	}
	return len(text), nil
}
