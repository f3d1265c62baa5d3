package publish

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// Request is what to publish.
type Request struct {
	Target  cluster.Target
	Archive Archive
	// Fields of the spec to set, besides the source; nil removes one. Other fields of an existing component stay.
	Fields map[string]any
}

// Publisher writes components and their sources. The source is there before the component refers to it, and one write of the component
// switches source and values together, so that nobody ever renders one without the other.
type Publisher struct {
	Client client.Client
	// Done is called with each write that was done, and with what was found unchanged.
	Done func(what string)
	// Warn is called with what failed without harm.
	Warn func(err error)
}

// Publish creates or updates a component and returns it as it is after that.
func (p *Publisher) Publish(ctx context.Context, r Request) (*unstructured.Unstructured, error) {
	before, err := p.find(ctx, r)
	if err != nil {
		return nil, err
	}
	s := newSource(r.Target, r.Archive)
	if err := p.provide(ctx, s, uidOf(before)); err != nil {
		return nil, err
	}
	component, previous, err := p.switchOver(ctx, before, r, s.name)
	if err != nil {
		return nil, err
	}
	if err := p.tidy(ctx, s, component, previous); err != nil {
		p.Warn(fmt.Errorf("sources of %s: %w", r.Target, err))
	}
	return component, nil
}

// find returns the component, or nil where there is none.
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
		return nil, exit.Refuse("%s is being deleted; apply it again when it is gone%s", r.Target, r.otherAccount())
	}
	return obj, nil
}

// accountField is the service account of a component, which may change while that is being deleted.
const accountField = "serviceAccountName"

// otherAccount says how a component gets another service account that is being deleted, where that was asked for: the former one may be what the
// deletion waits for.
func (r Request) otherAccount() string {
	account, ok := r.Fields[accountField].(string)
	if !ok {
		return ""
	}
	return fmt.Sprintf(`; to delete its dependents as another service account: kubectl -n %s patch %s --type=merge -p '{"spec":{%q:%q}}'`,
		r.Target.Namespace, r.Target, accountField, account)
}

func uidOf(obj *unstructured.Unstructured) types.UID {
	if obj == nil {
		return ""
	}
	return obj.GetUID()
}

// maxAttempts bounds a race against other writers of the component.
const maxAttempts = 10

// switchOver writes the component. It returns the name of the ConfigMap that was the source before, if there was another one.
func (p *Publisher) switchOver(
	ctx context.Context, before *unstructured.Unstructured, r Request, source string,
) (component *unstructured.Unstructured, previous string, err error) {
	for range maxAttempts {
		if component, err = p.write(ctx, before, r, source); err == nil {
			return component, otherSource(before, source), nil
		}
		if !raced(before, err) {
			return nil, "", err
		}
		if before, err = p.find(ctx, r); err != nil {
			return nil, "", err
		}
	}
	return nil, "", exit.Refuse("%s is changed by other clients continuously; apply it again", r.Target)
}

// raced says that somebody else created, changed or deleted the component in between.
func raced(before *unstructured.Unstructured, err error) bool {
	if before == nil {
		return apierrors.IsAlreadyExists(err)
	}
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}

// write makes one write, or none where the component is as it should be. The resource version of before guards the fields of others.
func (p *Publisher) write(ctx context.Context, before *unstructured.Unstructured, r Request, source string) (*unstructured.Unstructured, error) {
	if before == nil {
		created := r.Target.Blank()
		if err := setSpec(created, r.Fields, source); err != nil {
			return nil, err
		}
		if err := p.Client.Create(ctx, created); err != nil {
			return nil, err
		}
		p.Done(fmt.Sprintf("%s created", r.Target))
		return created, nil
	}
	after := before.DeepCopy()
	if err := setSpec(after, r.Fields, source); err != nil {
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
	return after, nil
}
