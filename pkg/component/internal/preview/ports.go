package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inventory"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/transport"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Owners implements reconcile.Owners. The user who makes a preview may lack the right to read the id of the cluster.
// Without this right, Owners uses an empty id. The empty id does no harm, because the id is read only for a component
// without a record, and such a component has no dependents.
type Owners struct{ *components.Owners }

// Of implements reconcile.Owners.
func (o Owners) Of(ctx context.Context, obj components.Object) (manifests.Owner, error) {
	owner, err := o.Owners.Of(ctx, obj)
	if apierrors.IsForbidden(err) {
		return o.In("", types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}), nil
	}
	return owner, err
}

// Targets implements reconcile.Targets. Targets reads a kubeconfig instead of watching it.
type Targets struct {
	Local *target.Connection
	// User is impersonated in the cluster of the component. If it is empty, the identity of Local is used.
	User string
	// Connect connects to the cluster of a configuration.
	Connect               func(context.Context, *rest.Config) (*target.Connection, error)
	DefaultServiceAccount string
	Inputs                Inputs
	Clock                 clock.PassiveClock
}

// Acquire implements reconcile.Targets.
func (t Targets) Acquire(ctx context.Context, r target.Request) (target.Target, error) {
	if _, err := r.Identity(r.Name.Namespace, t.DefaultServiceAccount); err != nil {
		return target.Target{}, passerror.InvalidSpec(err)
	}
	client, err := t.Local.As(target.Identity{User: t.User})
	if err != nil {
		return target.Target{}, err
	}
	own := target.Target{Client: client, Local: client}
	if r.KubeConfig == nil {
		return own, nil
	}
	namespace, key := r.Name.Namespace, cmp.Or(r.KubeConfig.Key, metav1alpha1.DefaultKubeConfigKey)
	secret := input.NewReference(
		namespace,
		metav1alpha1.Reference{Kind: metav1alpha1.SecretReference, Name: r.KubeConfig.Name},
	)
	if _, err := t.Inputs.read(ctx, own, &secret, false); err != nil {
		return target.Target{}, err
	}
	config, err := target.ParseKubeconfig(secret.Data()[key])
	if err != nil {
		return target.Target{}, passerror.InvalidSpec(
			fmt.Errorf("key %q of Secret %s/%s: %w", key, secret.Namespace, secret.Name, err))
	}
	if config, err = transport.DryRunOnly(config); err != nil {
		return target.Target{}, err
	}
	connection, err := t.Connect(ctx, config)
	if err != nil {
		return target.Target{}, err
	}
	cluster, err := target.Identify(ctx, connection, secret.Namespace, secret.Name)
	if err != nil {
		return target.Target{}, err
	}
	found := target.At(connection, cluster, r.Owner.Cluster)
	found.Local = own.Local
	return found, nil
}

// Inputs implements reconcile.Inputs. Inputs reads references instead of watching them.
type Inputs struct {
	Reader *input.Reader
	// Contents replace the contents of referenced objects. Objects that are not in Contents are read from the API
	// server.
	Contents generator.References
	// Credentials includes the references with credentials.
	Credentials bool
}

// Read implements reconcile.Inputs. Credentials are read only if the field Credentials is set.
func (i Inputs) Read(
	ctx context.Context, name types.NamespacedName, d input.Declaration, t target.Target, known input.Contents,
) (input.Inputs, input.Contents, error) {
	in, err := i.Reader.Declared(d)
	if err != nil {
		return input.Inputs{}, known, err
	}
	wanted := slices.DeleteFunc(slices.Clone(d.References), func(r metav1alpha1.Reference) bool {
		return r.Credential && !i.Credentials
	})
	in.References, err = i.Reader.Once(ctx, name, wanted, t, func(ref *input.Reference) (bool, error) {
		return i.read(ctx, t, ref, ref.IsOptional())
	})
	if err != nil {
		return input.Inputs{}, known, err
	}
	in.Digest, err = i.Reader.Identify(in)
	return in, known, err
}

// read reads the data of a reference. found is false if the object does not exist and the reference is optional.
func (i Inputs) read(
	ctx context.Context,
	t target.Target,
	ref *input.Reference,
	optional bool,
) (found bool, err error) {
	if given, ok := i.Contents[ref.Reference]; ok {
		return true, ref.SetData(given)
	}
	err = ref.Read(ctx, t)
	if failure, ok := errors.AsType[*passerror.Error](err); ok && optional &&
		failure.Reason == metav1alpha1.ReasonReferenceNotFound {
		return false, nil
	}
	return err == nil, err
}

// Inventory implements reconcile.Inventory, and writes nothing.
type Inventory struct {
	reconcile.ComponentRecord
	// Simulator gets the objects of deletion phases.
	Simulator *Simulator
}

// Load implements reconcile.Inventory. A lost inventory is recovered, but not written.
func (i Inventory) Load(
	ctx context.Context, c *reconcile.Component, owner manifests.Owner, t target.Target,
) (reconcile.Loaded, error) {
	entries, err := i.Inventories.Read(ctx, c.Object, owner, func() inventory.Recovery {
		return reconcile.RecoveryOf(c, t, i.DeletePolicy)
	})
	return reconcile.Loaded{Entries: entries}, err
}

// ProtectKubeconfig implements reconcile.Inventory.
func (Inventory) ProtectKubeconfig(context.Context, *reconcile.Component, manifests.Owner) error {
	return nil
}

// CheckKubeconfig implements reconcile.Inventory.
func (Inventory) CheckKubeconfig(*reconcile.Component, manifests.Owner, target.Target) {}

// Announce implements reconcile.Inventory.
func (Inventory) Announce(context.Context, *reconcile.Component, rendering.Set) error { return nil }

// Begun implements reconcile.Inventory.
func (Inventory) Begun(context.Context, *reconcile.Component, manifests.Owner, rendering.Set) error {
	return nil
}

// Begin implements reconcile.Inventory.
func (i Inventory) Begin(_ context.Context, _ *reconcile.Component, _ manifests.Owner, set rendering.Set) error {
	i.Simulator.phases = set.Phases()
	return nil
}

// Phases implements reconcile.Inventory. An Event means that the record of the phases is lost.
func (i Inventory) Phases(
	ctx context.Context, c *reconcile.Component, req applier.Request, t target.Target,
) (pre, post []manifests.Object, events []status.Event, err error) {
	pre, post, events, err = i.ComponentRecord.Phases(ctx, c, req, t)
	for _, lost := range events {
		i.Simulator.LostPhases = lost.Note
	}
	return pre, post, events, err
}

// WriteInventory implements reconcile.Inventory.
func (Inventory) WriteInventory(
	context.Context, *reconcile.Component, components.InventoryRef, []metav1alpha1.InventoryEntry,
) error {
	return nil
}

// Source implements input.Fetcher. Source returns the files of a source that was fetched before.
type Source struct{ Files fs.FS }

// Fetch implements input.Fetcher.
func (s Source) Fetch(context.Context, metav1alpha1.SourceReference) (fs.FS, error) {
	return s.Files, nil
}

// Fetched implements input.Fetcher.
func (s Source) Fetched(context.Context, metav1alpha1.SourceReference) (fs.FS, bool) {
	return s.Files, true
}
