package isolate

import (
	"bytes"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// A tenant who takes over a child chooses the messages to the parent.
func FuzzMessage(f *testing.F) {
	codec, err := newCodec()
	if err != nil {
		f.Fatal(err)
	}
	object := map[string]any{"kind": "A", "metadata": map[string]any{"labels": []any{int64(1), nil, 1.5, true}}}
	for _, seed := range []message{
		{Done: &outcome{Objects: []map[string]any{object, nil}, Asked: []string{"", "v1"}, Versions: []string{"a"}}},
		{Done: &outcome{Failure: &failure{
			Message: "a", Status: []byte(`{"code":404}`), NoMatch: &noMatch{},
			Terminal: true,
		}}},
		{Done: &outcome{Results: []generator.Result{{Message: "a"}}, Failure: &failure{RetryAfter: new(time.Second)}}},
		{Question: &question{Topic: topicOwns, Object: object}},
		{Question: &question{Topic: topicGet, GVK: schema.GroupVersionKind{Kind: "A"}, Name: "a"}},
		{Question: &question{Topic: topicCall, Outside: "a", Parameters: object}},
		{Question: &question{Topic: topicList}},
		{Ready: &ready{Missing: []string{"a"}}},
	} {
		var frame bytes.Buffer
		if err := codec.write(&frame, seed); err != nil {
			f.Fatal(err)
		}
		f.Add(frame.Bytes()[headBytes:])
	}
	fuzzing.Run(f, func(t *testing.T, content []byte) {
		frame := append([]byte{0, byte(len(content) >> 16), byte(len(content) >> 8), byte(len(content))}, content...)
		m, err := codec.read(t.Context(), bytes.NewReader(frame))
		if err != nil {
			return
		}
		c := conversation{options: Options{}.withDefaults(), codec: codec, request: generator.Request{
			Report: func(generator.Result) {}, Locate: func(generator.Origin) {},
			Owns:   func(o *unstructured.Unstructured) bool { return o.GetName()+o.GetNamespace() == o.GetKind() },
			Target: cluster{},
		}}
		if m.Question != nil {
			if a, err := c.reply(t.Context(), m.Question); err != nil && a == nil && failureOf(err).Message == "" {
				t.Error("an error without a text")
			}
		}
		if m.Done != nil {
			_ = c.finish(t.Context(), m.Done)
			for i, object := range objectsOf(m.Done.Objects) {
				_, _ = contentsOf(objectsOf(m.Done.Objects[i:i+1]), clientgoscheme.Scheme)
				_ = object.GetName() + object.GetNamespace() + object.GetObjectKind().GroupVersionKind().String()
			}
		}
		if m.Answer != nil {
			_ = m.Answer.Failure.error(func(uint64) error { return nil })
		}
	})
}
