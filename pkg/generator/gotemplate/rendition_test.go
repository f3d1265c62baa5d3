package gotemplate

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Generate would return anyhow; a template that nobody waits for must not run on.
func TestATemplateStopsWhenItsContextIsDone(t *testing.T) {
	const look = `{{ $_ := lookup "v1" "Secret" "a" "b" }}`
	templates, err := parseTemplates(fstest.MapFS{"a.yaml": {Data: []byte(look + "output" + look)}, "b.yaml": {Data: []byte(look)}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	target := &countingLookup{cancel: cancel}
	if _, err := templates.render(ctx, generator.Request{Target: target}, Options{MaxOutputBytes: 100}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if target.count != 1 {
		t.Errorf("the templates go on: %d look-ups", target.count)
	}
}

// countingLookup ends the context at the first look-up.
type countingLookup struct {
	generator.Lookup
	cancel func()
	count  int
}

func (l *countingLookup) Get(context.Context, schema.GroupVersionKind, string, string) (*unstructured.Unstructured, error) {
	l.cancel()
	l.count++
	return &unstructured.Unstructured{}, nil
}
