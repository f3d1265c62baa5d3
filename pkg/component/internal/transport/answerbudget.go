package transport

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/fairlead-io/fairlead/internal/budget"
)

// The estimate of the memory that a response takes.
const (
	// answerCopies counts the buffer of client-go, its copy while the buffer grows, and the texts that are decoded from
	// it.
	answerCopies = 3
	// answerValueBytes is the memory of a decoded value that limitedBody counts. The maximum is 192 bytes, for maps with
	// one key and a number.
	answerValueBytes = 200
	// freeAnswerBytes is the memory that each response has without being counted.
	freeAnswerBytes = 1 << 20
	// answerStep is the unit in which memory is taken.
	answerStep = 256 << 10
	// answerShare is the part of the memory limit of the process that all responses outside of passes may take: a quarter.
	answerShare = 4
)

// allAnswers is the memory for all responses of this process.
var allAnswers = &answerBudget{limit: func() int64 { return debug.SetMemoryLimit(-1) / answerShare }}

// answerBudget is the memory that responses outside of passes take at the same time. It is safe for concurrent use.
type answerBudget struct {
	limit func() int64
	mu    sync.Mutex
	taken int64
}

// take takes memory for a response that needs sum bytes with it.
func (m *answerBudget) take(bytes, sum int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	limit := m.limit()
	if sum > limit {
		return &AnswerError{fmt.Sprintf("needs more memory than the operator has for the responses of all target clusters "+
			"(%d MiB); give the operator more memory", limit>>20)}
	}
	if m.taken+bytes > limit {
		return &AnswerError{"needs memory that the responses of other target clusters use now; the request is repeated"}
	}
	m.taken += bytes
	return nil
}

// give returns memory that was taken.
func (m *answerBudget) give(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken -= bytes
}

// answerHolding is the memory that a response holds. In a pass, the memory belongs to the budget of the pass, until its
// end. Otherwise the memory is a part of answerBudget. An answerHolding is safe for concurrent use, because a watch may
// be closed while it is read.
type answerHolding struct {
	ctx     context.Context
	answers *answerBudget

	mu sync.Mutex
	// held is all memory, and taken the part of it that is taken from memory.
	held, taken int64
	// buffer is the last buffer of the reader.
	buffer []byte
	closed bool
}

// grow takes memory for a number of bytes and values, if the response does not hold it yet. The bytes were read into
// buffer. The error is that of budget.Reserve, or an AnswerError.
func (h *answerHolding) grow(bytes, values int, buffer []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	h.buffer = buffer
	need := answerCopies*int64(bytes) + answerValueBytes*int64(values) - freeAnswerBytes
	if need <= h.held {
		return nil
	}
	need += answerStep - need%answerStep
	more := need - h.held
	if budget.Working(h.ctx) {
		if err := budget.Reserve(h.ctx, more); err != nil {
			return err
		}
	} else {
		if err := h.answers.take(more, h.taken+more); err != nil {
			return err
		}
		h.taken += more
	}
	h.held = need
	return nil
}

// end gives the memory back. client-go closes the body before it decodes the buffer that the body was read into.
// Therefore the memory of a response that was read without an error is given back when the garbage collector frees the
// buffer. The Go runtime collects garbage every two minutes at least.
func (h *answerHolding) end(failed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	buffer, taken := h.buffer, h.taken
	h.closed, h.buffer, h.taken = true, nil, 0
	switch {
	case taken == 0:
	case failed || len(buffer) == 0:
		h.answers.give(taken)
	default:
		runtime.AddCleanup(&buffer[0], h.answers.give, taken)
	}
}
