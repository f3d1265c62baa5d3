package publish

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Request contains the content of a component.
type Request struct {
	Target  cluster.Target
	Archive Archive
	// Fields are the fields of the spec to set, except for the source. A nil value removes a field. Fields of an
	// existing component that are not in the map stay unchanged.
	Fields map[string]any
	// Manifest is a manifest of the component, or nil. Its labels and annotations are added to those of the component, and
	// fields of the spec that are neither in it nor in Fields are removed, except for the source and for spec.adopt.
	Manifest *unstructured.Unstructured
	// Adopt are added to spec.adopt. A component that Publish creates gets a list in any case, because a list is complete,
	// also an empty one: the operator takes over nothing that it does not name.
	Adopt []metav1alpha1.AdoptRule
}

// Check decides whether a component may be written, and which objects it may take over. If it returns an empty list
// that is not nil, a component without spec.adopt gets an empty one, so that it takes over nothing.
type Check func(component *unstructured.Unstructured, sources []*corev1.ConfigMap) ([]metav1alpha1.AdoptRule, error)

// Publisher writes components and their sources. A local source exists before its component refers to it, and one write
// of the component switches source and values together, so the operator never renders one without the other.
type Publisher struct {
	Client client.Client
	// Check is called before anything is written, with the component and the ConfigMaps of its source as they will be. It
	// returns entries that are added to Request.Adopt. Its error ends the work. Check may be nil.
	Check Check
	// CheckUnchanged calls Check also if the spec of the component does not change.
	CheckUnchanged bool
	// Done is called with each write, and with each object that is unchanged.
	Done func(what string)
	// Warn is called with errors after which Publish continues.
	Warn func(err error)
}

// Publish creates or updates a component, and returns it.
func (p *Publisher) Publish(ctx context.Context, r Request) (*unstructured.Unstructured, error) {
	before, err := p.find(ctx, r)
	if err != nil {
		return nil, err
	}
	s := p.source(ctx, before, r)
	adopted, err := p.check(before, r, s)
	if err != nil {
		return nil, err
	}
	r.Adopt = append(slices.Clip(r.Adopt), adopted...)
	if r.Adopt == nil {
		r.Adopt = adopted
	}
	if s.isDivided() || len(r.Adopt) > 0 {
		// An older definition of Component refuses a divided source, and each definition a list of adoptions that is too
		// long. That is found out before the source is written.
		if _, err := p.silent().dryRun(ctx, before, r, s); apierrors.IsInvalid(err) {
			return nil, s.explain(err)
		}
	}
	created, err := p.provide(ctx, s, uidOf(before))
	if err != nil {
		return nil, err
	}
	component, previous, err := p.switchOver(ctx, before, r, s)
	if err != nil {
		p.discard(ctx, s, created, err)
		return nil, s.explain(err)
	}
	if err := p.tidy(ctx, s, component, previous); err != nil && (s.url == "" || !apierrors.IsForbidden(err)) {
		p.Warn(fmt.Errorf("sources of %s: %w", r.Target, err))
	}
	return component, nil
}

// source returns the source of a request. If the component has a source with the same content, that source stays: a
// divided source that another version of this program packed differently, or the same chart, once as a folder and once
// as an archive of "helm package".
func (p *Publisher) source(ctx context.Context, before *unstructured.Unstructured, r Request) stored {
	s := newSource(r.Target, r.Archive)
	names, sum := sourceNames(before)
	if len(names) == 0 || s.url != "" || slices.Equal(names, s.names()) {
		return s
	}
	var archive []byte
	var parts []part
	for _, name := range names {
		have := &corev1.ConfigMap{}
		err := p.Client.Get(ctx, types.NamespacedName{Namespace: r.Target.Namespace, Name: name}, have)
		if err != nil || !Names(r.Target.Name, name) {
			return s
		}
		parts = append(parts, part{name: name, data: have.BinaryData[SourceKey]})
		archive = append(archive, have.BinaryData[SourceKey]...)
	}
	if sum == "" {
		sum = digestOf(archive)
	}
	current := stored{target: r.Target, digest: contentOf(archive), sha256: sum, parts: parts}
	if digestOf(archive) != sum || current.digest != r.Archive.Digest && !r.isChartIn(before, archive) {
		return s
	}
	return current
}

// isChartIn reports whether an archive contains the chart of the request. With a path in the spec, the folders in the
// archives matter, and with another generator than Helm all files, so isChartIn returns false.
func (r Request) isChartIn(before *unstructured.Unstructured, archive []byte) bool {
	field := func(name string) any {
		value, set := r.Fields[name]
		if !set {
			value, _, _ = unstructured.NestedFieldNoCopy(before.Object, "spec", name)
		}
		if value == nil {
			return ""
		}
		return value
	}
	renderer := field("generator")
	isHelm := renderer == "" || renderer == string(generator.EngineHelm)
	return field("path") == "" && isHelm && r.Archive.Chart != "" && chartIn(archive) == r.Archive.Chart
}

// find returns the component, or nil if it does not exist.
func (p *Publisher) find(ctx context.Context, r Request) (*unstructured.Unstructured, error) {
	obj := r.Target.Blank()
	err := p.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if obj.GetDeletionTimestamp() != nil {
		return nil, exit.Refuse("%s is being deleted; apply it again after its deletion; %s shows what it waits for%s",
			r.Target, r.Target.Command("status"), r.otherAccount())
	}
	return obj, nil
}

// accountField is the field of the spec with the service account. It may be changed during the deletion of a component.
const accountField = "serviceAccountName"

// otherAccount returns a hint for a component that is being deleted: how to change its service account. The old account
// may lack the rights to delete the dependents. The hint is empty if the request has no service account.
func (r Request) otherAccount() string {
	account, ok := r.Fields[accountField].(string)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; to delete its dependents as another service account: "+
		`kubectl -n %s patch %s --type=merge -p '{"spec":{%q:%q}}'`,
		r.Target.Namespace, r.Target, accountField, account)
}

func uidOf(obj *unstructured.Unstructured) types.UID {
	if obj == nil {
		return ""
	}
	return obj.GetUID()
}

// maxAttempts bounds retries after conflicting writes.
const maxAttempts = 10

// switchOver writes the component. It returns the common name of the ConfigMaps that were its source before, if these
// were others. It refuses to update a component that another client has created after Check, because its spec.adopt may
// permit what the plan did not list.
func (p *Publisher) switchOver(
	ctx context.Context, before *unstructured.Unstructured, r Request, s stored,
) (component *unstructured.Unstructured, previous string, err error) {
	planned := p.Check != nil && before == nil
	for range maxAttempts {
		if component, err = p.write(ctx, before, r, s); err == nil {
			return component, otherSource(before, s), nil
		}
		if !raced(before, err) {
			return nil, "", err
		}
		if before, err = p.find(ctx, r); err != nil {
			return nil, "", err
		}
		if planned && before != nil {
			return nil, "", exit.Refuse("%s was created by another client after it was checked; apply it again", r.Target)
		}
	}
	return nil, "", exit.Refuse("%s is changed by other clients continuously; apply it again", r.Target)
}

// raced reports whether a write failed because another client has created, changed or deleted the component.
func raced(before *unstructured.Unstructured, err error) bool {
	if before == nil {
		return apierrors.IsAlreadyExists(err)
	}
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}

// write creates the component if before is nil, and updates it if its spec changes. The update has the resource version
// of before, so that it cannot overwrite a later change of another client.
func (p *Publisher) write(
	ctx context.Context, before *unstructured.Unstructured, r Request, s stored,
) (*unstructured.Unstructured, error) {
	if before == nil {
		created := r.Target.Blank()
		if err := r.setSpec(created, s.spec()); err != nil {
			return nil, err
		}
		if err := p.Client.Create(ctx, created); err != nil {
			return nil, err
		}
		p.Done(fmt.Sprintf("%s created", r.Target))
		p.warnOfAdopt(created, r)
		return created, nil
	}
	after := before.DeepCopy()
	if err := r.setSpec(after, s.spec()); err != nil {
		return nil, err
	}
	if sameSpec(before, after) {
		p.Done(fmt.Sprintf("%s unchanged", r.Target))
		return before, nil
	}
	if err := p.Client.Update(ctx, after); err != nil {
		return nil, err
	}
	p.Done(fmt.Sprintf("%s updated", r.Target))
	if len(r.Adopt) > 0 {
		p.warnOfAdopt(after, r)
	}
	return after, nil
}

// warnOfAdopt warns if the API server dropped spec.adopt of a component that was written, or the UIDs in it.
func (p *Publisher) warnOfAdopt(written *unstructured.Unstructured, r Request) {
	lacking := ""
	list, kept, _ := unstructured.NestedSlice(written.Object, "spec", "adopt")
	switch {
	case !kept:
		lacking = "spec.adopt"
	case !keepsUIDs(written, list, r.Adopt):
		lacking = "spec.adopt[].uid"
	default:
		return
	}
	p.Warn(fmt.Errorf("%s: the definition of its type in the cluster is older than this program and lacks %s, so its "+
		"operator may take over existing objects that the plan did not list", r.Target, lacking))
}

// keepsUIDs reports whether a list of a component that was written contains the UIDs of the entries that were sent.
func keepsUIDs(written *unstructured.Unstructured, list []any, sent []metav1alpha1.AdoptRule) bool {
	for _, entry := range sent {
		kept := func(have any) bool { return ruleOf(written, have).UID == entry.UID }
		if entry.UID != "" && !slices.ContainsFunc(list, kept) {
			return false
		}
	}
	return true
}
