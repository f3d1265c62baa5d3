package logs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/logs"
)

func TestALogThatCannotBeReadHidesNoOther(t *testing.T) {
	resource := corev1.Resource("pods/log")
	missing := apierrors.NewNotFound(resource, "a")
	early := apierrors.NewBadRequest("not started")
	hidden := apierrors.NewForbidden(resource, "c", errors.New(`User "jane" cannot get resource "pods/log"`))
	for _, c := range []struct {
		name    string
		answers [3]answer
		code    exit.Code
		err     string
		warned  []string
	}{
		{"no request fails", [3]answer{}, exit.Yes, "<nil>", nil},
		{
			"two requests are refused",
			[3]answer{{err: missing}, {}, {err: early}},
			exit.No,
			"pod/a/main: " + missing.Error(),
			[]string{"pod/c/main: " + early.Error()},
		},
		{
			"a request is refused, and a later log is forbidden",
			[3]answer{{err: missing}, {}, {err: hidden}},
			exit.NotAsked,
			"pod/c/main: " + hidden.Error(),
			[]string{"pod/a/main: " + missing.Error()},
		},
		{
			"a connection is interrupted",
			[3]answer{{}, {breaks: io.ErrUnexpectedEOF}, {}},
			exit.NotAsked,
			"pod/b/main: unexpected EOF", nil,
		},
		{
			"a request is refused, and other connections are interrupted",
			[3]answer{{breaks: io.ErrUnexpectedEOF}, {breaks: errors.New("cut")}, {err: early}},
			exit.NotAsked,
			"pod/a/main: unexpected EOF",
			[]string{"pod/c/main: " + early.Error(), "pod/b/main: cut"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &kubelet{answers: map[string][]answer{}}
			var want string
			for i, pod := range []string{"a", "b", "c"} {
				next := c.answers[i]
				next.text = "2026-03-01T12:00:01Z " + pod + "\n"
				if next.err == nil {
					want += pod + "\n"
				}
				k.answers[pod+"/main"] = []answer{next}
			}
			var out bytes.Buffer
			var warned []string
			err := logs.Print(t.Context(), k, []logs.Container{container("a"), container("b"), container("c")}, all(), &out,
				func(err error) { warned = append(warned, err.Error()) })
			if got := exit.CodeOf(err); got != c.code {
				t.Errorf("the error has the exit code %d, want %d", got, c.code)
			}
			if fmt.Sprint(err) != c.err {
				t.Errorf("got the error %v, want %s", err, c.err)
			}
			if diff := cmp.Diff(c.warned, warned); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// onWrite is a writer that calls a function with each write.
type onWrite func()

func (f onWrite) Write(text []byte) (int, error) {
	f()
	return len(text), nil
}

func TestALogThatAPersonInterruptsIsNoneThatBreaks(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	k := &kubelet{answers: map[string][]answer{"a/main": {{
		text:   "one\n",
		breaks: errors.New("read on closed response body"),
	}}}}
	err := logs.Print(ctx, k, []logs.Container{container("a")}, all(), onWrite(interrupt), func(err error) { t.Error(err) })
	if !errors.Is(err, context.Canceled) || exit.CodeOf(err) != exit.Interrupted {
		t.Errorf("the interrupted merge returned %v, want context.Canceled", err)
	}
}
