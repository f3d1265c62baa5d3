package generatortest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// sharesNothing checks that renderings share no state: it changes the returned objects, renders concurrently, and
// renders other requests in between.
func (s subject) sharesNothing(ctx context.Context, objects []client.Object, want rendering) error {
	for _, object := range objects {
		scribble(object)
	}
	err := s.same(
		ctx,
		s.request,
		want,
		"a rendering after the objects of the first rendering were changed",
		"return new objects each time",
	)
	if err != nil {
		return err
	}
	for _, other := range s.others {
		if _, err := s.render(ctx, other); err != nil {
			continue // the check of that request reports the error
		}
	}
	if err := s.same(ctx, s.request, want, "a rendering after renderings of other "+
		"requests", "keep no state between renderings"); err != nil {
		return err
	}
	failures := make(chan error, atOnce)
	for range atOnce {
		go func() {
			failures <- s.same(ctx, s.request, want, "a rendering at the same time as "+
				"others", "share no state between renderings")
		}()
	}
	var first error
	for range atOnce {
		first = cmp.Or(first, <-failures)
	}
	return first
}

// scribble changes an object that a generator returned.
func scribble(object client.Object) {
	if manifest, ok := object.(*unstructured.Unstructured); ok {
		scribbleData(manifest.Object)
		return
	}
	for _, values := range []map[string]string{object.GetLabels(), object.GetAnnotations()} {
		for key := range values {
			values[key] = "scribbled"
		}
	}
	object.SetName("scribbled")
	object.SetLabels(map[string]string{"scribbled": "yes"})
}

func scribbleData(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, element := range value {
			scribbleData(element)
		}
		value["scribbled"] = "yes"
	case []any:
		for i, element := range value {
			scribbleData(element)
			value[i] = "scribbled"
		}
	}
}

// honoursContext checks that a rendering with a cancelled context returns the error of the context.
func (s subject) honoursContext(ctx context.Context) error {
	done, cancel := context.WithCancel(ctx)
	cancel()
	objects, err := s.render(done, s.request)
	switch {
	case err == nil:
		return fmt.Errorf(
			"the generator returned %s although its context had ended before; check ctx.Err() first",
			plural.Of(len(objects), "object"),
		)
	case !errors.Is(err, context.Canceled):
		return fmt.Errorf(
			"the context had ended before the rendering, and the generator returned another error; "+
				"wrap the error of the context with %%w: %w",
			err,
		)
	}
	return nil
}

// stopsLookingUp checks that a rendering returns the error of the context if the context is cancelled during the first
// look-up.
func (s subject) stopsLookingUp(ctx context.Context) error {
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	req, asked := s.request, false
	cut := func(l generator.Lookup) generator.Lookup {
		if l == nil {
			return nil
		}
		return cutLookup{func() {
			asked = true
			cancel()
		}}
	}
	req.Target, req.Local = cut(req.Target), cut(req.Local)
	if _, err := s.render(ending, req); asked && !errors.Is(err, context.Canceled) {
		return fmt.Errorf(
			"the context ended during a look-up, and the generator did not return the error of the context, but: %w",
			cmp.Or(err, errors.New("no error")),
		)
	}
	return nil
}

// cutLookup is a generator.Lookup that cancels the context of the rendering and returns the error of the context.
type cutLookup struct{ cut func() }

// Get implements generator.Lookup.
func (l cutLookup) Get(
	ctx context.Context,
	gvk schema.GroupVersionKind,
	_, name string,
) (*unstructured.Unstructured, error) {
	l.cut()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, name)
}

// List implements generator.Lookup.
func (l cutLookup) List(
	ctx context.Context,
	_ schema.GroupVersionKind,
	_ string,
) (*unstructured.UnstructuredList, error) {
	l.cut()
	return &unstructured.UnstructuredList{}, ctx.Err()
}

// snapshot returns the parts of a request that a generator could change, encoded as text.
func snapshot(req generator.Request) (string, error) {
	references := map[string]map[string][]byte{}
	for reference, data := range req.References {
		references[fmt.Sprint(reference)] = data
	}
	text, err := json.MarshalIndent(map[string]any{
		"parameters":  req.Parameters,
		"component":   req.Component,
		"references":  references,
		"apiVersions": req.Capabilities.APIVersions.All(),
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("the request cannot be written as JSON: %w", err)
	}
	return string(text), nil
}
