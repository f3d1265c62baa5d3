package input

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

// ExternalContents are the contents of the objects that the externals of a component name, as they were read last. A
// map of this type is never changed.
type ExternalContents map[metav1alpha1.Reference]ExternalContent

// ExternalContent is the content of such an object. Missing says why there is none.
type ExternalContent struct {
	version string
	Data    map[string][]byte
	Missing string
}

// ReadExternal watches the objects that the externals of a component name, and reads those that changed, with the
// identity of the component. A missing object is no error. The error is passerror.ErrObserving until the watches are in
// sync. known is the result of an earlier call.
func (r *Reader) ReadExternal(
	ctx context.Context, name types.NamespacedName, declared []metav1alpha1.Reference, t target.Target,
	known ExternalContents,
) (ExternalContents, error) {
	watch := name.String() + " externals"
	if len(declared) == 0 {
		r.References.Release(watch)
		return nil, nil
	}
	var watched []observe.Reference
	for _, d := range declared {
		watched = append(watched, NewReference(name.Namespace, d).watched)
	}
	r.References.Watch(watch, t.Local.Reader, watched, func() { r.Wake(name) })
	contents := ExternalContents{}
	for _, d := range declared {
		content, err := r.externalContent(ctx, NewReference(name.Namespace, d), t, known[d])
		if err != nil {
			return known, err
		}
		contents[d] = content
	}
	return contents, nil
}

// externalContent returns the content of one object. known is its content as it was read last.
func (r *Reader) externalContent(
	ctx context.Context, ref Reference, t target.Target, known ExternalContent,
) (ExternalContent, error) {
	object := fmt.Sprintf("%s %s/%s", ref.Kind, ref.Namespace, ref.Name)
	version, synced, failure := r.References.Version(t.Local.Reader, ref.watched)
	switch {
	case failure != observe.Failure{}:
		return ExternalContent{Missing: object + ": " + failure.Message}, nil
	case !synced:
		return ExternalContent{}, passerror.ErrObserving
	case version != "" && version == known.version:
		return known, nil
	}
	// The watch may be late, so a missing object is read, too.
	if err := ref.Read(ctx, t); err != nil {
		if passerror.Interrupted(err) {
			return ExternalContent{}, err
		}
		return ExternalContent{Missing: passerror.Of(err).Message}, nil
	}
	return ExternalContent{version: ref.content.version, Data: ref.data}, nil
}

// ReleaseExternal ends the watches on the objects that the externals of a component name.
func (r *Reader) ReleaseExternal(name types.NamespacedName) {
	r.References.Release(name.String() + " externals")
}
