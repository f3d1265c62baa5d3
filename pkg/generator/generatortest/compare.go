package generatortest

import (
	"context"
	"fmt"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/determinism"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// rendering is the result of a rendering as text and as plain data. It shares nothing with the returned objects.
type rendering struct {
	text    string
	objects []*unstructured.Unstructured
}

// renderingOf returns the objects as a stream of documents and as plain data, in the given order.
func renderingOf(objects []client.Object) (rendering, error) {
	var r rendering
	var stream strings.Builder
	data := make([]*unstructured.Unstructured, 0, len(objects))
	for i, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return r, fmt.Errorf("object %d (%T %s) cannot be written as JSON: %w", i+1, object, object.GetName(), err)
		}
		stream.WriteString("---\n")
		stream.Write(text)
		manifest, err := asManifest(object)
		if err != nil {
			return r, fmt.Errorf("object %d (%T %s): %w", i+1, object, object.GetName(), err)
		}
		data = append(data, manifest)
	}
	var err error
	r.text = stream.String()
	r.objects, err = determinism.Plain(data)
	return r, err
}

// repeats renders the request again, also with another time, and compares the results.
func (s subject) repeats(ctx context.Context, want rendering) error {
	later := s.request
	later.Now = s.request.Now.AddDate(1, 2, 3).Add(4*time.Hour + 5*time.Minute + 6*time.Second)
	advice := "use no random values, no clock, and no range over a map; if the values are generated on purpose, such as a " +
		"password, set Options.GeneratedValues"
	if s.options.GeneratedValues {
		advice = "make objects, fields and the lengths of lists independent of random values and of the clock"
	}
	if err := s.same(ctx, s.request, want, "a second rendering", advice); err != nil {
		return err
	}
	return s.same(ctx, later, want, "a rendering at another time", advice)
}

// same renders a request again and returns an error if the output differs from want. With generated values it makes a
// trial first, as the reconciler does; see generator.Request.
func (s subject) same(ctx context.Context, req generator.Request, want rendering, what, advice string) error {
	req.Trial = s.options.GeneratedValues
	difference, err := s.difference(ctx, req, want, what)
	if err == nil && difference != "" && req.Trial {
		// The cheaper keys of a trial may be the cause.
		req.Trial = false
		difference, err = s.difference(ctx, req, want, what)
	}
	if err == nil && difference != "" {
		err = fmt.Errorf("%s differs; %s (-first +this):\n%s", what, advice, difference)
	}
	return err
}

// difference renders a request again and returns how the output differs from want.
func (s subject) difference(ctx context.Context, req generator.Request, want rendering, what string) (string, error) {
	objects, err := s.render(ctx, req)
	if err != nil {
		return "", fmt.Errorf("%s fails: %w", what, err)
	}
	got, err := renderingOf(objects)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if s.options.GeneratedValues {
		return differenceInShape(want.objects, got.objects), nil
	}
	return gocmp.Diff(want.text, got.text), nil
}

// differenceInShape returns the differences that the reconciler refuses: in objects, fields and the lengths of lists,
// and in the order of the objects. It returns an empty text if only values differ.
func differenceInShape(want, got []*unstructured.Unstructured) string {
	if shape := determinism.Compare(want, got).Shape; len(shape) > 0 {
		return strings.Join(shape, "\n")
	}
	return gocmp.Diff(keysOf(want), keysOf(got))
}

func keysOf(objects []*unstructured.Unstructured) []string {
	keys := make([]string, 0, len(objects))
	for _, object := range objects {
		keys = append(keys, determinism.KeyOf(object).String())
	}
	return keys
}
