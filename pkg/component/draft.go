package component

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/determinism"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// draft is what a rendering made of the inputs.
type draft struct {
	bodies drafted
	looks  looks
	// id identifies the record of the bodies where a second rendering would give other values, and note says which; both are empty where it
	// gives the same.
	id, note string
	// anew says that what was applied of the same inputs has other values, which are lost: until the inputs change it stays as it is.
	anew bool
	// told is what the generator said besides; nil where it was not asked.
	told *results
}

// draft renders the inputs, and makes sure that rendering them once more would give the same; what would not is taken from what was rendered of
// the same inputs first.
func (r *Reconciler[T]) draft(ctx context.Context, component T, owner manifests.Owner, in inputs) (draft, error) {
	kept, current, err := r.kept(ctx, component, owner, in)
	if err != nil || current {
		return kept, err
	}
	p, err := r.newPress(ctx, component, in)
	if err != nil {
		return draft{}, err
	}
	d, err := r.press(ctx, component, owner, in, p, kept)
	// What a rendering that failed has looked up may be what it failed for.
	seen, failure := p.recorder.looks(r.looker(owner))
	d.looks.all, d.looks.served, d.told = seen, p.served, p.told
	r.follow(client.ObjectKeyFromObject(component), owner, in.target, d.looks)
	if err == nil {
		err = failure
	}
	return d, err
}

func (r *Reconciler[T]) looker(owner manifests.Owner) looker {
	return looker{reconciler: r.name, owner: owner.ID()}
}

// press renders, compares, and settles what is kept.
func (r *Reconciler[T]) press(ctx context.Context, component T, owner manifests.Owner, in inputs, p press[T], kept draft) (draft, error) {
	first, err := p.render(ctx, occasion{})
	if err != nil {
		return draft{}, err
	}
	d := draft{bodies: drafted{plain: first}}
	verified, readsStatus, err := r.verified(component.GetStatus(), owner, in, p)
	if err != nil || verified {
		d.looks.status = readsStatus
		return d, err
	}
	plain, err := determinism.Plain(first)
	if err != nil {
		// Normalise says so as well, together with all else that is wrong.
		return d, nil
	}
	difference, readsStatus, err := p.compare(ctx, plain)
	d.looks.status = readsStatus
	if err != nil || difference.Empty() {
		return d, err
	}
	if len(difference.Shape) > 0 {
		return d, nonDeterministic(difference.Shape)
	}
	settled, err := r.keepValues(component, in, plain, kept, difference.Values)
	settled.looks.status = readsStatus
	return settled, err
}

// verified says that the inputs and all that is looked up are those of an earlier rendering, which was found to be deterministic, or that
// nobody wants that found out.
func (r *Reconciler[T]) verified(status *metav1alpha1.Status, owner manifests.Owner, in inputs, p press[T]) (verified, readsStatus bool, err error) {
	if r.options.SkipDeterminismCheck {
		return true, true, nil
	}
	if !in.standing(status) || status.RenderedSet != "" {
		return false, false, nil
	}
	seen, err := p.recorder.looks(r.looker(owner))
	if err != nil {
		return false, false, err
	}
	same, readsStatus := looks{served: p.served, all: seen}.recorded(status)
	return same, readsStatus, nil
}

// compare renders again, later, and says what differs; and whether the status of what is looked up matters. A difference that is there only
// without the status is none of the rendering itself.
func (p press[T]) compare(ctx context.Context, first []*unstructured.Unstructured) (d determinism.Difference, readsStatus bool, err error) {
	hasStatus := p.recorder.hasStatus()
	d, err = p.differs(ctx, first, occasion{later: true, withoutStatus: hasStatus})
	if !hasStatus || err == nil && d.Empty() {
		return d, false, err
	}
	with, failure := p.differs(ctx, first, occasion{later: true})
	if failure != nil {
		return with, true, failure
	}
	return with, err != nil || !d.Within(with), nil
}

func (p press[T]) differs(ctx context.Context, first []*unstructured.Unstructured, o occasion) (determinism.Difference, error) {
	again, err := p.render(ctx, o)
	if err != nil {
		return determinism.Difference{}, err
	}
	plain, err := determinism.Plain(again)
	if err != nil {
		return determinism.Difference{}, nonDeterministic([]string{err.Error()})
	}
	return determinism.Compare(first, plain), nil
}

// maxNamed is how many fields are named that differ.
const maxNamed = 10

// nonDeterministic refuses a rendering of which nobody knows what another one would have.
func nonDeterministic(differences []string) error {
	text := strings.Join(differences[:min(len(differences), maxNamed)], "; ")
	if more := len(differences) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return &condition.Error{
		Reason: metav1alpha1.ReasonNonDeterministic, Terminal: true,
		Message: "two renderings of the same inputs differ in more than values: " + text +
			"; nothing is applied; make names, fields and the lengths of lists independent of the clock and of random values",
	}
}

// keepValues says what becomes of a rendering with values that differ each time. The first one of new inputs is kept. One that follows because of
// what is looked up gets the values that were kept; where it has others besides, which may depend on those, what is kept stands as a whole.
func (r *Reconciler[T]) keepValues(component T, in inputs, rendered []*unstructured.Unstructured, kept draft, fields []determinism.Field) (draft, error) {
	d := draft{bodies: drafted{plain: rendered}, note: describeFields(fields), anew: kept.anew}
	if kept.id != "" {
		before, err := kept.bodies.all()
		if err != nil {
			return d, err
		}
		merged, unknown := determinism.Merge(before, rendered, fields)
		if len(unknown) > 0 {
			kept.note = strings.TrimSuffix(kept.note, unfollowed) + unfollowed
			return kept, nil
		}
		if determinism.Compare(before, merged).Empty() {
			d.bodies, d.id = kept.bodies, kept.id
			return d, nil
		}
		d.bodies = drafted{plain: merged}
	}
	// It says nothing of the values: who may read the status need not be allowed to read Secrets.
	var err error
	d.id, err = manifests.Digest([]any{in.digest, component.GetUID(), r.clock.Now().UnixNano()})
	return d, err
}

// unfollowed ends a note where what was looked up has changed, and that could not be followed.
const unfollowed = "; what is looked up has changed, which is not followed, because it brings new values of that kind, which may depend on these; " +
	"change the spec to have all of it rendered anew"

func describeFields(fields []determinism.Field) string {
	names, more := determinism.Names(fields, maxNamed)
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
