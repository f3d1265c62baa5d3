package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/budget"
)

const mebibyte = 1 << 20

// textOf returns a JSON object that takes an estimated memory of a number of MiB in addition to the free part.
func textOf(mib int) string {
	return `{"a":"` + strings.Repeat("a", (mib*mebibyte+freeAnswerBytes)/answerCopies-answerStep/2) + `"}`
}

func bodyOf(r *http.Request, text string, answers *answerBudget) *limitedBody {
	return newLimitedBody(r, io.NopCloser(strings.NewReader(text)), false, answers)
}

func request(t *testing.T) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
}

func TestResponsesShareTheMemory(t *testing.T) {
	answers := &answerBudget{limit: func() int64 { return 10 * mebibyte }}
	first := bodyOf(request(t), textOf(6), answers)
	text, err := io.ReadAll(first)
	if err != nil || len(text) < 2*mebibyte {
		t.Fatalf("read %d bytes: %v", len(text), err)
	}
	_, err = io.ReadAll(bodyOf(request(t), textOf(6), answers))
	var refused *AnswerError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "responses of other target clusters use now") {
		t.Errorf("got %v", err)
	}
	if _, err := io.ReadAll(bodyOf(request(t), `{"a":"`+strings.Repeat("a", 300_000)+`"}`, answers)); err != nil {
		t.Errorf("a small response needs no memory: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if answers.available() == 10*mebibyte {
		t.Error("the memory is given back before the response is decoded")
	}
	runtime.KeepAlive(text)
	for answers.available() != 10*mebibyte {
		runtime.GC()
	}
	if _, err := io.ReadAll(bodyOf(request(t), textOf(6), answers)); err != nil {
		t.Error(err)
	}
}

// available returns the memory that is not taken.
func (m *answerBudget) available() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.limit() - m.taken
}

func TestARefusedResponseTakesNoMemory(t *testing.T) {
	answers := &answerBudget{limit: func() int64 { return 10 * mebibyte }}
	for range 3 {
		_, err := io.ReadAll(bodyOf(request(t), textOf(12), answers))
		const want = "the response of the API server needs more memory than the operator has for the responses of all " +
			"target clusters (10 MiB); give the operator more memory"
		if fmt.Sprint(err) != want || answers.available() != 10*mebibyte {
			t.Errorf("%d bytes are available: %v", answers.available(), err)
		}
	}
}

func TestValuesTakeMemory(t *testing.T) {
	answers := &answerBudget{limit: func() int64 { return 10 * mebibyte }}
	body := bodyOf(request(t), `{"a":[`+strings.Repeat("{},", 100_000)+`1]}`, answers)
	if _, err := io.ReadAll(body); err == nil {
		t.Error("200,000 values take less than 10 MiB")
	}
}

func TestAResponseInAPassTakesMemoryOfThePass(t *testing.T) {
	answers := &answerBudget{limit: func() int64 { return 0 }}
	passes := budget.New(10*mebibyte, 1<<40)
	ctx, first := passes.Begin(t.Context(), types.NamespacedName{Namespace: "a", Name: "x"}, func() {})
	other, second := passes.Begin(t.Context(), types.NamespacedName{Namespace: "b", Name: "y"}, func() {})
	body := bodyOf(request(t).WithContext(ctx), textOf(6), answers)
	if _, err := io.ReadAll(body); err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Fatal(err)
	}
	if reserved := passes.Usage().Reserved; reserved < 5*mebibyte {
		t.Errorf("%d bytes are reserved", reserved)
	}
	if _, err := io.ReadAll(bodyOf(request(t).WithContext(other), textOf(6), answers)); !errors.Is(err, budget.ErrWait) {
		t.Errorf("got %v", err)
	}
	if !second.Waits() {
		t.Error("the component does not stand in line")
	}
	first.End()
	if _, err := io.ReadAll(bodyOf(request(t).WithContext(ctx), textOf(6), answers)); err == nil || errors.Is(err,
		budget.ErrWait) {
		t.Errorf("after the end of the pass: got %v", err)
	}
}
