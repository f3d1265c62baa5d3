package generator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Part is a generator with a name for error messages.
type Part struct {
	// Name is the name of the part in errors. The default is "part 1", "part 2" and so on.
	Name string
	Generator
}

// Merge returns a generator that renders all parts with the same request, and returns their objects in the order of the
// parts. If two parts render the same object, the generator returns an error that names both parts. For this check, an
// object without namespace is in the namespace of the component. The errors of all parts are joined.
//
// The version of the generator combines the versions of the parts. If one part has no version, the generator has no
// version.
func Merge(parts ...Part) Generator { return merged(parts) }

type merged []Part

var _ Versioner = merged(nil)

// Generate renders the parts in order.
func (m merged) Generate(ctx context.Context, req Request) ([]client.Object, error) {
	var (
		all  []client.Object
		errs []error
	)
	origins := map[manifests.Key]string{}
	var notes []string
	each := req
	if req.Notes != nil {
		each.Notes = func(text string) {
			if text != "" {
				notes = append(notes, strings.TrimRight(text, "\n")+"\n")
			}
		}
	}
	for i, part := range m {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		objects, err := part.Generate(ctx, each)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", part.describe(i), err))
			continue
		}
		for _, object := range objects {
			errs = append(errs, claim(origins, object, req.Namespace, part.describe(i)))
		}
		all = append(all, objects...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(notes) > 0 {
		req.Noted(strings.Join(notes, "\n"))
	}
	return all, nil
}

// claim notes which part rendered an object.
func claim(origins map[manifests.Key]string, object client.Object, namespace, origin string) error {
	key, err := keyOf(object)
	if err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	placed := key
	if placed.Namespace == "" {
		placed.Namespace = namespace
	}
	if first, twice := origins[placed]; twice {
		return fmt.Errorf("%s is rendered twice, by %s and by %s; render it only once", key, first, origin)
	}
	origins[placed] = origin
	return nil
}

// Version combines the versions of the parts.
func (m merged) Version() string {
	parts := make([]any, len(m))
	for i, part := range m {
		parts[i] = part.Generator
	}
	return versionOfAll("merge", parts...)
}

func (p Part) describe(position int) string {
	if p.Name == "" {
		return fmt.Sprintf("part %d", position+1)
	}
	return p.Name
}

func keyOf(object client.Object) (manifests.Key, error) {
	if object == nil {
		return manifests.Key{}, errors.New("the generator returned nil as an object")
	}
	gvk := object.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		var err error
		if gvk, err = gvkOf(object); err != nil {
			return manifests.Key{}, fmt.Errorf("%T %s: %w; set its apiVersion and kind", object, object.GetName(), err)
		}
	}
	return manifests.Key{
		Group:     gvk.Group,
		Kind:      gvk.Kind,
		Namespace: object.GetNamespace(),
		Name:      object.GetName(),
	}, nil
}
