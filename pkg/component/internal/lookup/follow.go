package lookup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// watcher returns the name under which the watches on look-ups are registered. The watches in the cluster of the
// component (local) have another name than the watches in the target cluster, so that each group can be ended
// separately.
func (o Owner) watcher(local bool) string {
	if local {
		return o.ID + " local"
	}
	return o.ID
}

// Follow watches the looked-up objects of a component, and the capabilities of its target, and calls wake when one of
// them changes. It replaces the watches of an earlier call.
func Follow(t target.Target, o Owner, l Lookups, wake func()) {
	for _, local := range []bool{false, true} {
		versions := map[observe.Reference]observe.Version{}
		for _, r := range l.Results {
			if ref, served := r.reference(); served && r.key.local == local {
				versions[ref] = r.version
			}
		}
		client := t.On(local)
		reading := observe.ReadVersions{OwnerID: o.ID, Reader: client.Reader, Versions: versions}
		client.Lookups.WatchVersions(o.watcher(local), reading, wake)
	}
	t.Client.Discovery.Subscribe(o.ID, l.Served.Digest, wake)
}

// Unfollow ends the watches on looked-up objects in the cluster of the component. Connection.Release ends the watches
// in the target cluster.
func Unfollow(local *target.Connection, o Owner) { local.Lookups.Release(o.watcher(true)) }

// Capabilities returns the capabilities of the target.
func Capabilities(ctx context.Context, t target.Target) (discovery.Capabilities, error) {
	return capabilitiesOf(ctx, t.Client)
}

func capabilitiesOf(ctx context.Context, client *target.Client) (discovery.Capabilities, error) {
	now, err := client.Discovery.Capabilities(ctx)
	if err != nil {
		return now, &passerror.Error{
			Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("read the types that the API server serves: %v", err),
		}
	}
	return now, nil
}

// Refresh reads again the objects that may have changed since they were looked up, and the objects that cannot be
// watched. It returns the look-ups with their current versions, and whether a new rendering would get equal results. A
// change of the capabilities matters only if it changes an answer that the rendering got. If the status of a looked-up
// object changed, the results are not equal, even if the last rendering did not depend on the status. It may depend on
// the status as soon as a value, such as an address, is assigned.
func (l Lookups) Refresh(ctx context.Context, t target.Target, o Owner) (Lookups, bool, error) {
	now, err := Capabilities(ctx, t)
	otherTypes := now.Digest != l.Served.Digest
	if err != nil || otherTypes && !l.Asked.sameAnswers(now) {
		return l, false, err
	}
	l.Served = now.Summary
	l.Results = slices.Clone(l.Results)
	for i, was := range l.Results {
		changed, err := mayHaveChanged(ctx, t, o, was, now, otherTypes)
		if err != nil {
			return l, false, err
		}
		if !changed {
			continue
		}
		is, err := o.lookAgain(ctx, t, was.key)
		if err != nil || !was.equal(is) {
			return l, false, err
		}
		l.Results[i].version = is.version
	}
	return l, true, nil
}

// mayHaveChanged reports whether a look-up must be repeated. A type that was not served has no watch. It may be served
// since the API server of the look-up serves other types, or if it was deleted and defined again since the capabilities
// were read. now and otherTypes are about the target.
func mayHaveChanged(
	ctx context.Context, t target.Target, o Owner, r Result, now discovery.Capabilities, otherTypes bool,
) (bool, error) {
	ref, served := r.reference()
	client := t.On(r.key.local)
	if served {
		changed, unwatched := client.Lookups.Changed(o.watcher(r.key.local))
		_, unknown := unwatched[ref]
		return unknown || slices.Contains(changed, ref), nil
	}
	if client.Connection != t.Client.Connection {
		var err error
		if now, err = capabilitiesOf(ctx, client); err != nil {
			return false, err
		}
		otherTypes = false
	}
	return otherTypes || now.Serve(r.key.gvk.GroupKind(), r.key.gvk.Version), nil
}

func (o Owner) lookAgain(ctx context.Context, t target.Target, k key) (Result, error) {
	a, err := readAgain(ctx, t, k)
	if err != nil {
		return Result{}, err
	}
	return o.identify(k, a)
}

// Recall repeats the look-ups in a status, and reports whether the results equal the recorded results. capabilities is
// the text of RecordCapabilities of the recorded rendering, and may be empty. Other capabilities than at the rendering
// matter only if they change an answer that it got.
func Recall(
	ctx context.Context, t target.Target, o Owner, status *metav1alpha1.Status, capabilities string,
) (Lookups, bool, error) {
	now, err := Capabilities(ctx, t)
	if err != nil {
		return Lookups{}, false, err
	}
	then, asked := recallCapabilities(capabilities)
	l := Lookups{Served: now.Summary, Asked: asked, Exports: ExportsOf(status)}
	for _, line := range status.Lookups {
		entry, err := metav1alpha1.ParseLookup(line)
		if err != nil {
			return l, false, nil
		}
		r, err := o.lookAgain(ctx, t, keyOf(entry))
		if err != nil {
			return l, false, err
		}
		l.Results = append(l.Results, r)
	}
	equal, readsStatus := l.EqualRecorded(status)
	l.ReadsStatus = readsStatus
	if !equal && asked.sameAnswers(now) {
		l.Served.Digest = then
		equal, _ = l.EqualRecorded(status)
		l.Served = now.Summary
	}
	return l, equal, nil
}

// Unwatched returns the types of looked-up objects that cannot be watched.
func Unwatched(t target.Target, o Owner) []result.Unwatched {
	messages := map[string]string{}
	for _, local := range []bool{false, true} {
		_, unwatched := t.On(local).Lookups.Changed(o.watcher(local))
		for ref, message := range unwatched {
			messages["looked-up "+ref.Resource.GroupResource().String()] = message
		}
	}
	found := make([]result.Unwatched, 0, len(messages))
	for name, message := range messages {
		found = append(found, result.Unwatched{Type: name, Message: message})
	}
	slices.SortFunc(found, func(a, b result.Unwatched) int { return strings.Compare(a.Type, b.Type) })
	return found
}
