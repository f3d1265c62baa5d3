package v1alpha1

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// GetStatus returns a pointer to the status, which the reconciler writes.
func (c *Component) GetStatus() *metav1alpha1.Status { return &c.Status }

// GetParameters returns spec.values as maps, lists and scalars. Whole numbers have type int64, other numbers float64.
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

// Placement returns the namespace and the name under which the component is rendered.
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

// GetSpec returns the spec. Its parts implement optional interfaces of package component.
func (c *Component) GetSpec() any { return &c.Spec }

// Source returns the reference to an archive outside the cluster. It returns nil if the source is in the cluster.
func (c *Component) Source() *metav1alpha1.SourceReference {
	if c.Spec.Source.HTTP == nil {
		return nil
	}
	return &metav1alpha1.SourceReference{URL: c.Spec.Source.HTTP.URL, SHA256: c.Spec.Source.HTTP.SHA256}
}

// SourceName returns the name of the rendered source, for the history.
func (c *Component) SourceName() string {
	switch source := c.Spec.Source; {
	case source.ConfigMap != nil:
		return fmt.Sprintf("%s %s", metav1alpha1.ConfigMapReference, source.ConfigMap.Name)
	case source.ConfigMaps != nil:
		return source.ConfigMaps.describe()
	case source.HTTP != nil:
		return c.Source().Location()
	case source.Inline != nil && len(source.Inline.Files) == 1:
		return "1 file in the spec"
	case source.Inline != nil:
		return fmt.Sprintf("%d files in the spec", len(source.Inline.Files))
	case c.Spec.Function != nil:
		return "function " + metav1alpha1.SourceReference{URL: c.Spec.Function.URL}.Location()
	}
	return ""
}

// SourceDigest returns the digest of an archive whose parts are in several ConfigMaps, for the history. It is empty for
// other sources.
func (c *Component) SourceDigest() string {
	if c.Spec.Source.ConfigMaps == nil {
		return ""
	}
	return c.Spec.Source.ConfigMaps.SHA256
}

// describe returns the name of the source for the history: the name of its first ConfigMap, and the number of the
// others.
func (s *ConfigMapsSource) describe() string {
	switch len(s.Names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s %s", metav1alpha1.ConfigMapReference, s.Names[0])
	}
	return fmt.Sprintf("%s %s and %d more", metav1alpha1.ConfigMapReference, s.Names[0], len(s.Names)-1)
}

// References returns the Secrets, the ConfigMaps and the exports of components that the component reads: the source,
// the values, and the inputs and credentials of a function. Each object or export is returned once. An object with
// several references is optional only if all references are optional, and a credential only if all references are
// credentials.
func (c *Component) References() []metav1alpha1.Reference {
	var refs []metav1alpha1.Reference
	add := func(ref metav1alpha1.Reference) {
		for i := range refs {
			if refs[i].Kind == ref.Kind && refs[i].Name == ref.Name && refs[i].Export == ref.Export {
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
	if parts := c.Spec.Source.ConfigMaps; parts != nil {
		for _, name := range parts.Names {
			add(metav1alpha1.Reference{Kind: metav1alpha1.ConfigMapReference, Name: name})
		}
	}
	for _, v := range c.Spec.ValuesFrom {
		add(v.Reference())
	}
	for _, ref := range c.Spec.Function.references() {
		add(ref)
	}
	return refs
}

// RenderInputs returns the part of the spec that affects the rendering. A change of other fields makes no new revision:
// intervals, timeouts, suspend, policies, adopted objects, ignored fields, the identity, the target cluster, needed
// components and permitted dependents, services of externals, the credentials of a function, the URL of an archive, the
// webhook, and the intervals of polls.
func (c *Component) RenderInputs() any {
	spec := c.Spec.DeepCopy()
	spec.SuspendSpec, spec.PoliciesSpec = metav1alpha1.SuspendSpec{}, metav1alpha1.PoliciesSpec{}
	spec.ResyncSpec, spec.RetrySpec = metav1alpha1.ResyncSpec{}, metav1alpha1.RetrySpec{}
	spec.TimeoutSpec, spec.EmptySpec = metav1alpha1.TimeoutSpec{}, metav1alpha1.EmptySpec{}
	spec.AdoptSpec, spec.IgnoreSpec = metav1alpha1.AdoptSpec{}, metav1alpha1.IgnoreSpec{}
	spec.ServiceAccountSpec, spec.KubeConfigSpec = metav1alpha1.ServiceAccountSpec{}, metav1alpha1.KubeConfigSpec{}
	spec.ExportsSpec = metav1alpha1.ExportsSpec{}
	spec.DependencySpec, spec.ConsentSpec = metav1alpha1.DependencySpec{}, metav1alpha1.ConsentSpec{}
	spec.Externals, spec.Webhook = nil, nil
	for i := range spec.Inputs {
		if poll := spec.Inputs[i].Poll; poll != nil {
			poll.Interval = nil
		}
	}
	if spec.Source.HTTP != nil {
		spec.Source.HTTP.URL = "" // The digest identifies the content of the archive.
	}
	if f := spec.Function; f != nil {
		f.CARef, f.TokenRef, f.ClientCertificateRef, f.Timeout = nil, nil, nil, nil
	}
	return spec
}

// Validate returns an error for negative durations and invalid references to archives, which an older CRD may accept.
// It joins all errors, and each error names its field.
func (c *Component) Validate() error {
	var errs []error
	for _, f := range []struct {
		field string
		value *metav1.Duration
	}{
		{"interval", c.Spec.Interval}, {"retryInterval", c.Spec.RetryDuration}, {"timeout", c.Spec.TimeoutDuration},
	} {
		if f.value != nil && f.value.Duration < 0 {
			errs = append(errs, fmt.Errorf("spec.%s: %s is negative; use a duration such as 10m", f.field, f.value.Duration))
		}
	}
	if err := c.validateInputs(); err != nil {
		errs = append(errs, err)
	}
	if ref := c.Source(); ref != nil {
		if err := ref.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("spec.source.http: %w", err))
		}
	}
	return errors.Join(errs...)
}
