package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// The count of a response must cover all values that its decoder creates.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"List","items":[{"a":"[{,\\"},{}],"b":{"c":null}}`, `[[[]],"\"",1e3]`, `{"a":1}{"b":2}`,
		`"\u00e4\\"`, "]}[{",
	} {
		f.Add([]byte(seed), false)
	}
	fuzzing.Run(f, func(t *testing.T, text []byte, isWatch bool) {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("/?watch=%t", isWatch), nil)
		body := newLimitedBody(request, io.NopCloser(iotest.HalfReader(bytes.NewReader(text))), false, allAnswers)
		defer func() { _ = body.Close() }()
		got, err := io.ReadAll(body)
		if err != nil || !bytes.Equal(got, text) {
			return // only the limits change a response
		}
		var decoded any
		if isWatch || json.Unmarshal(text, &decoded) != nil {
			return
		}
		nodes, err := bounded.Value(decoded, bounded.Limits{Depth: maxAnswerDepth, Nodes: maxAnswerNodes})
		if err != nil || nodes > 2*body.nodes+1 {
			t.Errorf("counted %d values, and decoded %d: %v", body.nodes, nodes, err)
		}
	})
}
