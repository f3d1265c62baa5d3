package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// activityDelay is the time before the first line of an Activity, and between its updates.
const activityDelay = time.Second

// eraseLine moves the cursor to the start of its line and erases the line.
const eraseLine = "\r\x1b[K"

// Activity shows the current work of a command in one line, until the command prints output. The zero value shows no
// line.
type Activity struct {
	out io.Writer

	mu    sync.Mutex
	text  string
	shown bool
	stop  chan struct{}
}

// NewActivity returns an Activity for a writer. It shows a line only if the writer is a terminal.
func NewActivity(out io.Writer) *Activity {
	if _, ok := terminal.Descriptor(out); !ok {
		return &Activity{}
	}
	return ActivityOn(out)
}

// ActivityOn returns an Activity for a terminal.
func ActivityOn(out io.Writer) *Activity { return &Activity{out: out} }

// Begin sets the text of the line. The line is shown after a second.
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

// End erases the line and stops the Activity.
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

// Before returns a writer that ends the Activity before it writes.
func (b *Activity) Before(out io.Writer) io.Writer { return output{Writer: out, activity: b} }

// output is the writer that Before returns.
type output struct {
	io.Writer
	activity *Activity
}

func (o output) Write(text []byte) (int, error) {
	o.activity.End()
	return o.Writer.Write(text)
}

// Unwrap returns the underlying writer.
func (o output) Unwrap() io.Writer { return o.Writer }
