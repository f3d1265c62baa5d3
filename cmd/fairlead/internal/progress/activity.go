package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// activityDelay is how long nothing is said of a command that has not said anything yet, and then how often.
const activityDelay = time.Second

// eraseLine brings the cursor to the begin of its line, and erases that.
const eraseLine = "\r\x1b[K"

// Activity tells a person what a command is at, on a line that goes with the first thing that the command itself has to say. The zero value says
// nothing, as is right where nobody looks.
type Activity struct {
	out io.Writer

	mu    sync.Mutex
	text  string
	shown bool
	stop  chan struct{}
}

// NewActivity returns one for what is written to, which says nothing unless that is a terminal.
func NewActivity(out io.Writer) *Activity {
	if _, ok := terminal.Descriptor(out); !ok {
		return &Activity{}
	}
	return ActivityOn(out)
}

// ActivityOn returns one for a terminal.
func ActivityOn(out io.Writer) *Activity { return &Activity{out: out} }

// Begin says what the command is at, once that has taken a second.
func (b *Activity) Begin(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = text
	if b.out == nil || b.stop != nil {
		return
	}
	b.stop = make(chan struct{})
	go b.tell(b.stop, time.Now())
}

func (b *Activity) tell(stop chan struct{}, since time.Time) {
	ticker := time.NewTicker(activityDelay)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			b.draw(stop, time.Since(since))
		}
	}
}

func (b *Activity) draw(stop chan struct{}, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != stop {
		return
	}
	b.shown = true
	_, _ = fmt.Fprintf(b.out, "%s%s (%s)", eraseLine, terminal.Clean(b.text), after.Truncate(time.Second))
}

// End takes the line away, for good: what has something to say tells how far it is by itself.
func (b *Activity) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil {
		close(b.stop)
	}
	if b.shown {
		_, _ = io.WriteString(b.out, eraseLine)
	}
	b.stop, b.out, b.shown = nil, nil, false
}

// Before returns a writer that takes the line away before it writes.
func (b *Activity) Before(out io.Writer) io.Writer { return output{Writer: out, activity: b} }

// output is what a command writes to.
type output struct {
	io.Writer
	activity *Activity
}

func (o output) Write(text []byte) (int, error) {
	o.activity.End()
	return o.Writer.Write(text)
}

// Unwrap returns what is written to.
func (o output) Unwrap() io.Writer { return o.Writer }
