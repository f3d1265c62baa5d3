package input

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Declaration contains the inputs that a component declares.
type Declaration struct {
	// Namespace and Name are the default namespace of the dependents, and the name under which the component is deployed.
	Namespace, Name string
	// Parameters are the parameters for the generator.
	Parameters map[string]any
	// Rendered is the part of the component that is an input, as plain data.
	Rendered any
	// References are the referenced objects, and exports of components, in the namespace of the component.
	References []metav1alpha1.Reference
	// Source is a source outside the cluster, nil if the component has none. SourceName names the source in the
	// history.
	Source     *metav1alpha1.SourceReference
	SourceName string
	// SourceContent identifies the content of a source that consists of several references; empty for other sources.
	SourceContent string
	// ManagedTypes are the additional managed types.
	ManagedTypes []metav1alpha1.TypePattern
	// EventSources are the values of event sources, sorted by name.
	EventSources []EventSource
}

// Inputs are the inputs of a rendering.
type Inputs struct {
	Declaration
	References []Reference
	// Managed are the additional managed types, sorted.
	Managed []manifests.ManagedType
	// Digest identifies all inputs.
	Digest string
}

// AreRecorded reports whether the inputs are the same as the inputs that a status records for the current revision.
func (in Inputs) AreRecorded(status *metav1alpha1.Status) bool {
	return status.InputDigest == in.Digest
}

// SourceDigest identifies the source; it is empty if there is no source.
func (in Inputs) SourceDigest() string {
	if in.Source == nil {
		return ""
	}
	return in.Source.SHA256
}

// Reader reads the inputs of components.
type Reader struct {
	// References watches the referenced objects.
	References *observe.References
	// CanFetch is set if the reconciler has a fetcher for sources.
	CanFetch bool
	// GeneratorVersion identifies the generator.
	GeneratorVersion string
	// Type is the type of the components.
	Type schema.GroupKind
	// ReferencesOf returns the references that another component declares, nil if it does not exist. ReferencesOf may be
	// nil; then cycles of references are not detected.
	ReferencesOf func(ctx context.Context, name types.NamespacedName) ([]metav1alpha1.Reference, error)
	// Wake starts a pass over a component.
	Wake func(types.NamespacedName)
}

// Read returns the inputs of a component. known are the contents of references that an earlier call returned. Read also
// returns their current contents, for the next call. The error is passerror.ErrObserving until the watches on the
// references are in sync.
func (r *Reader) Read(
	ctx context.Context, name types.NamespacedName, d Declaration, t target.Target, known Contents,
) (Inputs, Contents, error) {
	in, err := r.Declared(d)
	if err != nil {
		return Inputs{}, known, err
	}
	refs, err := r.watch(name, d.References, d.SourceName, t)
	if err == nil {
		err = r.checkCycle(ctx, name, t, refs, d.References)
	}
	if err == nil {
		in.References, err = r.existing(ctx, refs, t)
	}
	if err != nil {
		return Inputs{}, known, err
	}
	if known, err = identify(ctx, t, in.References, known); err != nil {
		return Inputs{}, known, err
	}
	in.Digest, err = r.Identify(in)
	return in, known, err
}

// Declared returns the inputs that the spec of a component contains. The contents of references and the digest are
// missing.
func (r *Reader) Declared(d Declaration) (Inputs, error) {
	in := Inputs{Declaration: d}
	var err error
	if in.Managed, err = ManagedTypes(d.ManagedTypes); err != nil {
		return Inputs{}, passerror.InvalidSpec(err)
	}
	if d.Source == nil {
		return in, nil
	}
	if !r.CanFetch {
		return Inputs{}, passerror.InvalidSpec(
			errors.New("this operator cannot fetch sources, because Options.Fetcher is not set"),
		)
	}
	if err := d.Source.Validate(); err != nil {
		return Inputs{}, passerror.InvalidSpec(fmt.Errorf("source: %w", err))
	}
	return in, nil
}

// ManagedTypes converts patterns into managed types, sorted and without duplicates. The errors of all patterns are
// joined.
func ManagedTypes(patterns []metav1alpha1.TypePattern) ([]manifests.ManagedType, error) {
	var managed []manifests.ManagedType
	var errs []error
	for _, pattern := range patterns {
		t, err := manifests.NewManagedType(pattern.Group, pattern.Kind)
		managed, errs = append(managed, t), append(errs, err)
	}
	slices.SortFunc(managed, func(a, b manifests.ManagedType) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(managed), errors.Join(errs...)
}

// TypeTexts returns managed types in the text form of Status.ManagedTypes.
func TypeTexts(managed []manifests.ManagedType) []string {
	var texts []string
	for _, t := range managed {
		texts = append(texts, t.String())
	}
	return texts
}

// Identify returns the digest of inputs. It covers the namespace and name for the rendering, the parameters and the
// spec, the references except credentials, the source, the managed types, the values of event sources, and the version
// of the generator.
func (r *Reader) Identify(in Inputs) (string, error) {
	parts := []any{in.Namespace, in.Name, in.Parameters, in.Rendered}
	for _, ref := range in.References {
		if !ref.credential {
			parts = append(parts, ref.Reference, ref.content.digest)
		}
	}
	if in.Source != nil {
		parts = append(parts, in.Source.SHA256)
	}
	for _, t := range in.Managed {
		parts = append(parts, t.String())
	}
	for _, e := range in.EventSources {
		parts = append(parts, []string{"event source", e.Name, e.Digest})
	}
	return digestOf(append(parts, r.GeneratorVersion))
}

// digestOf returns a digest of plain data.
func digestOf(value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}
