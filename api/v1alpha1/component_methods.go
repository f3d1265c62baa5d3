package v1alpha1

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// GetStatus returns the status, for the reconciler to maintain.
func (c *Component) GetStatus() *metav1alpha1.Status { return &c.Status }

// GetParameters returns spec.values as plain data; whole numbers are int64, others float64.
func (c *Component) GetParameters() (map[string]any, error) {
	values := map[string]any{}
	if c.Spec.Values == nil || len(c.Spec.Values.Raw) == 0 {
		return values, nil
	}
	if err := json.Unmarshal(c.Spec.Values.Raw, &values); err != nil {
		return nil, fmt.Errorf("spec.values: %w", err)
	}
	return values, nil
}

// Placement returns where, and as what, the component is deployed.
func (c *Component) Placement() (namespace, name string) {
	namespace, name = c.Spec.TargetNamespace, c.Spec.TargetName
	if namespace == "" {
		namespace = c.Namespace
	}
	if name == "" {
		name = c.Name
	}
	return namespace, name
}

// ServiceAccountName returns the service account that dependents are written as, "" for the operator's default.
func (c *Component) ServiceAccountName() string { return c.Spec.ServiceAccountName }

// KubeConfig returns where the kubeconfig of the target is, nil where that is the component's own cluster.
func (c *Component) KubeConfig() *metav1alpha1.KubeConfigReference {
	if c.Spec.KubeConfig == nil {
		return nil
	}
	ref := c.Spec.KubeConfig.SecretRef
	return &metav1alpha1.KubeConfigReference{Name: ref.Name, Key: ref.Key}
}

// Suspended says whether reconciling is suspended.
func (c *Component) Suspended() bool { return c.Spec.Suspend }

// ResyncInterval returns the interval of the resync: ten hours where the spec is silent; zero turns it off.
func (c *Component) ResyncInterval() time.Duration { return durationOr(c.Spec.Interval, 10*time.Hour) }

// RetryInterval returns how long to wait after an error that does not go away by itself: one minute where the spec is
// silent.
func (c *Component) RetryInterval() time.Duration {
	return durationOr(c.Spec.RetryInterval, time.Minute)
}

// Timeout returns how long the component may be on its way: ten minutes where the spec is silent.
func (c *Component) Timeout() time.Duration { return durationOr(c.Spec.Timeout, 10*time.Minute) }

func durationOr(d *metav1.Duration, fallback time.Duration) time.Duration {
	if d == nil {
		return fallback
	}
	return d.Duration
}

// Source returns where the archive is that is rendered, nil where the files are in the cluster.
func (c *Component) Source() *metav1alpha1.SourceReference {
	if c.Spec.Source.HTTP == nil {
		return nil
	}
	return &metav1alpha1.SourceReference{URL: c.Spec.Source.HTTP.URL, SHA256: c.Spec.Source.HTTP.SHA256}
}

// SourceName says what is rendered, for the history.
func (c *Component) SourceName() string {
	switch source := c.Spec.Source; {
	case source.ConfigMap != nil:
		return fmt.Sprintf("%s %s", metav1alpha1.ConfigMapReference, source.ConfigMap.Name)
	case source.HTTP != nil:
		return c.Source().Location()
	case source.Inline != nil:
		return fmt.Sprintf("%d files in the spec", len(source.Inline.Files))
	case c.Spec.Function != nil:
		return "function " + metav1alpha1.SourceReference{URL: c.Spec.Function.URL}.Location()
	}
	return ""
}

// References returns the Secrets and ConfigMaps that the component reads, each once: the source, the values, and what a
// function gets and is reached with. What is needed in one place is not optional, although it is in another, and what
// is rendered with is more than a credential.
func (c *Component) References() []metav1alpha1.Reference {
	var refs []metav1alpha1.Reference
	add := func(ref metav1alpha1.Reference) {
		for i := range refs {
			if refs[i].Kind == ref.Kind && refs[i].Name == ref.Name {
				refs[i].Optional = refs[i].Optional && ref.Optional
				refs[i].Credential = refs[i].Credential && ref.Credential
				return
			}
		}
		refs = append(refs, ref)
	}
	if cm := c.Spec.Source.ConfigMap; cm != nil {
		add(metav1alpha1.Reference{Kind: metav1alpha1.ConfigMapReference, Name: cm.Name})
	}
	for _, v := range c.Spec.ValuesFrom {
		add(metav1alpha1.Reference{Kind: v.Kind, Name: v.Name, Optional: v.Optional})
	}
	for _, ref := range c.Spec.Function.references() {
		add(ref)
	}
	return refs
}

// Policies returns the policies of dependents that name none.
func (c *Component) Policies() metav1alpha1.Policies {
	return metav1alpha1.Policies{
		Adoption:          c.Spec.AdoptionPolicy,
		Update:            c.Spec.UpdatePolicy,
		Delete:            c.Spec.DeletePolicy,
		MissingNamespaces: c.Spec.MissingNamespacesPolicy,
	}
}

// AllowEmpty says whether nothing may be rendered although there are dependents.
func (c *Component) AllowEmpty() bool { return c.Spec.AllowEmpty }

// AdditionalManagedTypes returns types whose foreign instances block the deletion.
func (c *Component) AdditionalManagedTypes() []metav1alpha1.TypePattern {
	return c.Spec.AdditionalManagedTypes
}

// RenderInputs returns the part of the spec that the rendering depends on. How often, how long, whether and by which
// policies to reconcile is no part of it, nor is as whom and where, so that it makes no revision. How a function is
// reached, or where an archive is, is none, either.
func (c *Component) RenderInputs() any {
	spec := c.Spec.DeepCopy()
	spec.Suspend, spec.Interval, spec.RetryInterval, spec.Timeout = false, nil, nil, nil
	spec.AdoptionPolicy, spec.UpdatePolicy, spec.DeletePolicy, spec.MissingNamespacesPolicy, spec.AllowEmpty = "", "", "", "", false
	spec.ServiceAccountName, spec.KubeConfig = "", nil
	if spec.Source.HTTP != nil {
		spec.Source.HTTP.URL = "" // The digest says what is there.
	}
	if f := spec.Function; f != nil {
		f.CARef, f.TokenRef, f.ClientCertificateRef, f.Timeout = nil, nil, nil, nil
	}
	return spec
}

// Validate rejects what the CRD does not, or did not before: negative durations, and archives that cannot be
// fetched. All errors are joined, each naming its field.
func (c *Component) Validate() error {
	var errs []error
	for _, f := range []struct {
		field string
		value *metav1.Duration
	}{{"interval", c.Spec.Interval}, {"retryInterval", c.Spec.RetryInterval}, {"timeout", c.Spec.Timeout}} {
		if f.value != nil && f.value.Duration < 0 {
			errs = append(errs, fmt.Errorf("spec.%s: %s is negative; use a duration such as 10m", f.field, f.value.Duration))
		}
	}
	if ref := c.Source(); ref != nil {
		if err := ref.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("spec.source.http: %w", err))
		}
	}
	return errors.Join(errs...)
}
