package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// collectBackoff defines the pauses and the number of the tries in one round of the Collector, about two minutes.
var collectBackoff = wait.Backoff{Duration: time.Second, Factor: 2, Steps: 8}

// restoreGrace is the minimum age at which a Secret without a component is released, if it was created while this
// process runs. The restore of a backup may create the Secrets before the components.
const restoreGrace = time.Hour

// Component is a component that may own Secrets. Its status is read-only.
type Component struct {
	Name   types.NamespacedName
	Owner  manifests.Owner
	Status *metav1alpha1.Status
	// IsDeleted is set if the component is being deleted.
	IsDeleted bool
}

// Components returns the components of a reconciler to the Collector.
type Components interface {
	// Cached returns the components in the cache by their owner ids. The map is empty if the cache cannot list them.
	Cached(ctx context.Context) (map[string]Component, error)
	// Identity returns the fields of the owner that are the same for all components of the reconciler: all except
	// namespace and name.
	Identity(ctx context.Context) (manifests.Owner, error)
	// Live lists the components in a namespace from the API server, or in all namespaces if namespace is empty.
	Live(ctx context.Context, namespace string) ([]types.NamespacedName, error)
	// Unnamed is called with a Secret of a record that the status of its component does not name. The next pass over
	// the component has to decide whether the Secret is deleted; see State.AddUnnamedSecret.
	Unnamed(component types.NamespacedName, secret *metav1.PartialObjectMetadata)
	// Lost is called if the record of a kind that the status of a component names does not exist. The next pass that has
	// a rendering has to write the record again.
	Lost(component types.NamespacedName, kind Kind)
}

// Collector is the garbage collection of Secrets. It deletes the records of components that do not exist, except
// records of externals that still exist, and removes their finalizers from Secrets with kubeconfigs and credentials.
// Such Secrets remain if a component disappeared while no operator ran. For components that exist, it reports records
// that their status does not name, and named records that do not exist. It lists and watches the Secrets with the label
// marks.LabelHeld, and sends no other request as long as each Secret belongs to a component in the cache, and no
// named record is missing.
type Collector struct {
	Store      *Store
	Components Components
	// Namespaces are the namespaces of the components; an empty string means all namespaces.
	Namespaces []string
	// Started is the time when this process began to watch.
	Started time.Time
}

// Run collects the Secrets of deleted components until ctx ends.
func (c *Collector) Run(ctx context.Context) {
	logger := log.FromContext(ctx)
	found := newQueue(func(cause string) {
		logger.Info("Secrets of components that disappeared while no operator ran are not collected", "cause", cause)
	})
	for _, namespace := range c.Namespaces {
		observe.WatchLabelled(ctx, c.Store.Metadata, secretResource, namespace, c.Store.Marks.name(marks.LabelHeld), found)
	}
	for {
		c.round(ctx, found)
		if ctx.Err() != nil {
			return
		}
	}
}

// round waits for Secrets and collects them. It tries again after every error. An API server that has just started
// refuses requests until it has read the roles, so a refused request says nothing about the rights of the operator at
// first. If requests are still refused at the end of the round, the operator lacks a right, and the Secrets are not
// checked again before a watch event delivers them.
func (c *Collector) round(ctx context.Context, found *queue) {
	taken := found.take(ctx)
	secrets, young := c.byAge(taken.all())
	var last error
	// The error is last, or that of ctx.
	_ = wait.ExponentialBackoffWithContext(ctx, collectBackoff, func(ctx context.Context) (bool, error) {
		last = c.collect(ctx, taken, secrets)
		return last == nil, nil
	})
	if ctx.Err() != nil {
		return
	}
	if last != nil {
		log.FromContext(ctx).Info("some Secrets of deleted components are not released", "cause", last.Error())
	}
	if !onlyForbidden(last) {
		found.again(taken)
		return
	}
	found.later(restoreGrace, young)
}

// onlyForbidden reports whether no part of an error is anything else than a forbidden request. It is true for nil.
func onlyForbidden(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(part error) bool { return !onlyForbidden(part) })
	}
	return err == nil || apierrors.IsForbidden(err)
}

// byAge separates the young Secrets, which are not released yet because of restoreGrace, from all other Secrets. A
// Secret that is being deleted is never young.
func (c *Collector) byAge(secrets []*metav1.PartialObjectMetadata) (settled, young []*metav1.PartialObjectMetadata) {
	for _, secret := range secrets {
		created := secret.CreationTimestamp.Time
		isYoung := created.After(c.Started) && c.Store.Clock.Since(created) < restoreGrace
		if isYoung && secret.DeletionTimestamp == nil {
			young = append(young, secret)
			continue
		}
		settled = append(settled, secret)
	}
	return settled, young
}

// collect reports records that the status of their component does not name, and named records that do not exist. It
// releases those Secrets whose components do not exist. The Secrets were read before the components, so a
// component that is not found now was deleted. The cache may be older than the Secrets, or restricted to some
// components. So for Secrets whose component is not in the cache, the components are listed from the API server.
func (c *Collector) collect(ctx context.Context, b batch, secrets []*metav1.PartialObjectMetadata) error {
	cached, err := c.Components.Cached(ctx)
	if err != nil {
		return err
	}
	c.reportUnnamed(secrets, cached)
	return errors.Join(c.reportLost(ctx, b, cached), c.release(ctx, secrets, cached))
}

// release releases those Secrets whose components do not exist.
func (c *Collector) release(
	ctx context.Context, secrets []*metav1.PartialObjectMetadata, cached map[string]Component,
) error {
	suspects := slices.DeleteFunc(slices.Clone(secrets), func(secret *metav1.PartialObjectMetadata) bool {
		return c.hasOwners(secret, cached)
	})
	if len(suspects) == 0 {
		return nil
	}
	identity, err := c.Components.Identity(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, namespace := range c.Namespaces {
		inNamespace := slices.DeleteFunc(slices.Clone(suspects), func(secret *metav1.PartialObjectMetadata) bool {
			return namespace != "" && secret.Namespace != namespace
		})
		if len(inNamespace) > 0 {
			errs = append(errs, c.collectNamespace(ctx, identity, namespace, inNamespace))
		}
	}
	return errors.Join(errs...)
}

// reportUnnamed reports the records that the status of their component does not name. A process may have written them
// and crashed before it wrote the status. It does not report a rendering while the status names the rendering that it
// replaces.
func (c *Collector) reportUnnamed(secrets []*metav1.PartialObjectMetadata, components map[string]Component) {
	for _, secret := range secrets {
		component, found := components[ownerIDOf(secret.Name)]
		if found && !c.Store.Marks.isNamed(component.Status, secret) {
			c.Components.Unnamed(component.Name, secret)
		}
	}
}

// hasOwners reports whether all components that own a Secret are among components.
func (c *Collector) hasOwners(secret *metav1.PartialObjectMetadata, components map[string]Component) bool {
	if owner := ownerIDOf(secret.Name); owner != "" {
		_, found := components[owner]
		return found
	}
	return !slices.ContainsFunc(c.Store.Marks.ownerFinalizers(secret), func(f string) bool {
		_, found := components[strings.TrimPrefix(f, c.Store.Marks.name(""))]
		return !found
	})
}

// collectNamespace releases the Secrets in a namespace whose components do not exist.
func (c *Collector) collectNamespace(
	ctx context.Context, identity manifests.Owner, namespace string, secrets []*metav1.PartialObjectMetadata,
) error {
	names, err := c.Components.Live(ctx, namespace)
	if err != nil {
		return fmt.Errorf("find out which components own the Secrets in namespace %q: %w", namespace, err)
	}
	owners := map[string]bool{}
	for _, name := range names {
		owner := identity
		owner.Namespace, owner.Name = name.Namespace, name.Name
		owners[owner.ID()] = true
	}
	return errors.Join(c.deleteRecords(ctx, secrets, owners, identity), c.removeFinalizers(ctx, secrets, owners))
}

// deleteRecords deletes the records of this reconciler whose component is not in owners. The owner id is in the name of
// a record, because labels and annotations can be edited. A record whose owner is in another cluster was created here
// by the restore of a backup. It is kept until somebody deletes it. Then its finalizer is removed, so that the deletion
// completes. No component in this cluster uses such a record. A record is also kept until somebody deletes it if its
// annotation does not name the owner, because somebody edited it.
func (c *Collector) deleteRecords(
	ctx context.Context, secrets []*metav1.PartialObjectMetadata, owners map[string]bool, identity manifests.Owner,
) error {
	var errs []error
	for _, secret := range secrets {
		id := ownerIDOf(secret.Name)
		if id == "" || owners[id] {
			continue
		}
		owner, err := c.ownerOf(ctx, secret)
		if err != nil {
			errs = append(errs, notReleased(secret, err))
			continue
		}
		isNamed := owner.ID() == id
		sameType := owner.Reconciler == identity.Reconciler && owner.Group == identity.Group && owner.Kind == identity.Kind
		deletable := isNamed && owner.Cluster == identity.Cluster || secret.DeletionTimestamp != nil
		if isNamed && !sameType || !deletable {
			continue
		}
		if kindOf(secret.Name) == Externals && c.keepsExternals(ctx, secret, owner) {
			continue
		}
		err = c.Store.own.delete(ctx, secret, c.Store.own.removeChanged)
		if apierrors.IsConflict(err) {
			// A process has written the record again, for a component that was created in the meantime. The watch delivers
			// the new version.
			continue
		}
		errs = append(errs, notReleased(secret, err))
	}
	return errors.Join(errs...)
}

// ownerOf returns the owner in the annotation of a record. If somebody edited the annotation, ownerOf returns the owner
// in the index of a Secret of the kind Externals that is being deleted, because its loss must be reported for the right
// component, and a wrong release would lose externals. The result does not have the owner id in the name of the Secret
// if the owner is not known.
func (c *Collector) ownerOf(ctx context.Context, secret *metav1.PartialObjectMetadata) (manifests.Owner, error) {
	owner, ok := manifests.ParseOwner(secret.Annotations[c.Store.Marks.name(annotationOwner)])
	if ok && owner.ID() == ownerIDOf(secret.Name) || kindOf(secret.Name) != Externals || secret.DeletionTimestamp == nil {
		return owner, nil
	}
	whole, err := c.Store.Get(ctx, client.ObjectKeyFromObject(secret))
	if err != nil {
		return owner, client.IgnoreNotFound(err)
	}
	var index struct {
		Owner string `json:"owner"`
	}
	if data, err := dataOf(whole, Externals); err != nil || json.Unmarshal(data, &index) != nil {
		return owner, nil
	}
	owner, _ = manifests.ParseOwner(index.Owner)
	return owner, nil
}

// keepsExternals reports whether a Secret of the kind Externals is kept although its component does not exist, because
// it is the only record of externals that still exist. A component with the same name will find it. If somebody deletes
// the Secret, it is not kept. In both cases keepsExternals logs that externals are left.
func (c *Collector) keepsExternals(
	ctx context.Context, secret *metav1.PartialObjectMetadata, owner manifests.Owner,
) bool {
	left, known := c.Store.Marks.externalsLeft(secret)
	if known && left == 0 {
		return false
	}
	logger := log.FromContext(ctx).WithValues("secret", client.ObjectKeyFromObject(secret),
		"component", owner.Component().String(), "externals", secret.Annotations[c.Store.Marks.name(annotationLeft)])
	if secret.DeletionTimestamp != nil {
		logger.Info("somebody deleted the record of externals of a component that does not exist; the externals still " +
			"exist, and nothing manages them any more")
		return false
	}
	logger.Info("the externals of a component that does not exist still exist, and the Secret is their only record; " +
		"create the component again to manage them, or to delete them with it; delete the Secret only when no external " +
		"is left")
	return true
}

// removeFinalizers removes finalizers from Secrets with kubeconfigs and credentials, if the component of the finalizer
// is not in owners.
func (c *Collector) removeFinalizers(
	ctx context.Context, secrets []*metav1.PartialObjectMetadata, owners map[string]bool,
) error {
	var errs []error
	for _, secret := range secrets {
		for _, finalizer := range c.Store.Marks.ownerFinalizers(secret) {
			if owners[strings.TrimPrefix(finalizer, c.Store.Marks.name(""))] {
				continue
			}
			err := c.Store.Finalizers.change(ctx, client.ObjectKeyFromObject(secret), finalizer, remove)
			errs = append(errs, notReleased(secret, err))
		}
	}
	return errors.Join(errs...)
}

// notReleased adds the name of a Secret to the error of its release. It returns nil for nil.
func notReleased(secret *metav1.PartialObjectMetadata, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("release Secret %s: %w", client.ObjectKeyFromObject(secret), err)
}
