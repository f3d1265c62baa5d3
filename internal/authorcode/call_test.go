package authorcode_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/authorcode"
)

func TestCall(t *testing.T) {
	failure := errors.New("no answer")
	for _, c := range []struct {
		name string
		f    func() (int, error)
		want int
		text string
		// panicked is the value of the panic.
		panicked any
	}{
		{name: "returns the result", f: func() (int, error) { return 7, nil }, want: 7},
		{name: "returns the result beside an error", f: func() (int, error) {
			return 7,
				failure
		}, want: 7, text: "no answer"},
		{
			name: "returns a panic as an error", f: func() (int, error) { panic("a bug") },
			text: "the handler panicked: a bug", panicked: "a bug",
		},
		{
			name: "returns a panic with an error", f: func() (int, error) { panic(failure) },
			text: "the handler panicked: no answer", panicked: failure,
		},
		{
			name: "returns a panic of the run time", f: func() (int, error) { return len(([]string)(nil)[:1]), nil },
			text: "the handler panicked: runtime error: slice bounds out of range [:1] with capacity 0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := authorcode.Call("the handler", c.f)
			if got != c.want || (err == nil) != (c.text == "") || err != nil && err.Error() != c.text {
				t.Errorf("got %d, %v", got, err)
			}
			p, ok := errors.AsType[*authorcode.Panic](err)
			if ok != strings.Contains(c.text, "panicked") {
				t.Fatalf("the error has the type %T", err)
			}
			if ok && (c.panicked != nil && p.Value != c.panicked || !strings.Contains(string(p.Stack), "call_test.go")) {
				t.Errorf("value %v, stack %s", p.Value, p.Stack)
			}
			if ok && !strings.HasPrefix(p.Place, "call_test.go:") {
				t.Errorf("the place is %s", p.Place)
			}
		})
	}
}

func TestRunTellsAPanicFromAnErrorOfOne(t *testing.T) {
	var err error
	if p := authorcode.Run("the handler", func() {
		_, err = authorcode.Call("the library", func() (int, error) { panic("a bug") })
	}); p != nil || err == nil || err.Error() != "the library panicked: a bug" {
		t.Errorf("got %v, %v", p, err)
	}
	if p := authorcode.Run("the handler", func() { panic(err) }); p == nil ||
		p.Error() != "the handler panicked: the library panicked: a bug" {
		t.Errorf("got %v", p)
	}
}
