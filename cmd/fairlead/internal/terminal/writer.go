package terminal

import (
	"io"
	"sync"
)

// Writer keeps the error of the first failed write, because a command whose output is lost must fail even if its work
// succeeded.
type Writer struct {
	out io.Writer

	mu     sync.Mutex
	err    error
	onFail func()
}

// NewWriter returns a Writer that writes to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write implements io.Writer.
func (w *Writer) Write(text []byte) (int, error) {
	n, err := w.out.Write(text)
	if err != nil {
		w.fail(err)
	}
	return n, err
}

func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.err = err
	if w.onFail != nil {
		w.onFail()
	}
}

// Err returns the error of the first failed write, or nil if all writes succeeded.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// OnFail registers a function that is called after the first failed write. Commands that follow changes use it to end.
func (w *Writer) OnFail(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onFail = do
}

// Unwrap returns the underlying writer.
func (w *Writer) Unwrap() io.Writer { return w.out }
