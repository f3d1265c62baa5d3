package deletion

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// findAll returns the components in the arguments of delete, before the first of them is deleted. It returns the errors
// about all malformed names, or else about all components that do not exist, and objects that are no components. An
// object of another type must have the status of a component, because the person may have named a wrong type.
func findAll(ctx context.Context, clusters command.Clusters, names []string) ([]cluster.Object, error) {
	var refs []cluster.Reference
	var errs []error
	for _, name := range names {
		ref, err := cluster.ParseReference(name)
		if err != nil {
			errs = append(errs, err)
		}
		refs = append(refs, ref)
	}
	if len(errs) > 0 {
		return nil, exit.Join(errs)
	}
	c, err := clusters.Connect()
	if err != nil {
		return nil, err
	}
	var found []cluster.Object
	for i, ref := range refs {
		f, err := findOne(ctx, c, ref)
		if err != nil && i == 0 && len(refs) > 1 {
			err = withType(c, err, refs)
		}
		if err != nil {
			errs = append(errs, err)
		}
		found = append(found, f)
	}
	return found, exit.Join(errs)
}

func findOne(ctx context.Context, c *cluster.Cluster, ref cluster.Reference) (cluster.Object, error) {
	target, err := c.Resolve(ref)
	if err != nil {
		return cluster.Object{}, err
	}
	live, err := c.Find(ctx, target)
	if err != nil {
		return cluster.Object{}, err
	}
	_, err = cluster.Status(target, live)
	return cluster.Object{Cluster: c, Target: target, Live: live}, err
}

// withType adds advice to the error that the first of several names was not found, if this name is a type: the person
// wrote TYPE NAME, as for kubectl, in place of TYPE/NAME.
func withType(c *cluster.Cluster, err error, refs []cluster.Reference) error {
	kind := refs[0].Name
	if refs[0].Type != "" || exit.CodeOf(err) != exit.No {
		return err
	}
	if _, unknown := c.ResolveType(kind); unknown != nil {
		return err
	}
	var typed []string
	for _, ref := range refs[1:] {
		if ref.Type == "" {
			typed = append(typed, kind+"/"+ref.Name)
		}
	}
	if len(typed) == 0 {
		return err
	}
	return fmt.Errorf("%w, and %s is a type: want TYPE/NAME: %s", err, kind, strings.Join(typed, " "))
}

// deleteAll deletes components one after the other. If there are several, it prints each error as it occurs, and
// returns one with the exit code of the decisive error. An interruption ends it.
func (o *options) deleteAll(ctx context.Context, found []cluster.Object) error {
	if len(found) == 1 {
		return o.delete(ctx, found[0])
	}
	var errs []error
	var failed []string
	for _, f := range found {
		err := o.deleteNext(ctx, f)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			o.Warn(err)
			errs, failed = append(errs, err), append(failed, f.Target.String())
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &exit.Error{
		Code: exit.CodeOf(errs[exit.Decisive(errs)]),
		Err:  fmt.Errorf("%d of %d deletions failed: %s", len(errs), len(found), strings.Join(failed, ", ")),
	}
}

// deleteNext deletes a component that was read before others were deleted, and reads it again for this reason.
func (o *options) deleteNext(ctx context.Context, f cluster.Object) error {
	live, err := remaining(ctx, f)
	switch {
	case err != nil:
		return err
	case live == nil:
		o.Println(f.Target.String() + " is deleted already")
		return nil
	}
	f.Live = live
	return o.delete(ctx, f)
}
