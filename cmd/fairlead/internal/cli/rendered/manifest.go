package rendered

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// placeOfManifest is the place of an inline source, in messages.
const placeOfManifest = "spec.source.inline"

// takeManifest moves the manifest of a component, if there is one, from the files of values to the options. Flags that
// are set take precedence over the manifest. namespace becomes the namespace of the dependents.
func (o *sourceOptions) takeManifest(namespace *string, args []string, changed func(string) bool) error {
	given := o.values
	manifest, _, err := command.TakeManifest(&given, namespace, args)
	if err != nil || manifest == nil {
		return err
	}
	c := &v1alpha1.Component{}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(manifest.Object, c, true)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return exit.BadInput("the manifest: %w", err)
	}
	if err := renderedLocally(c, len(args) > 0); err != nil {
		return err
	}
	o.values, o.component = given, c
	if !changed("path") {
		o.path = c.Spec.Path
	}
	if !changed("generator") {
		o.generator = string(c.Spec.Generator)
	}
	if !changed("name") {
		_, o.name = c.Placement()
	}
	if c.Spec.TargetNamespace != "" {
		*namespace = c.Spec.TargetNamespace
	}
	if changed("include-crds") && o.includeCRDs && c.Spec.Helm != nil {
		c.Spec.Helm.SkipCRDs = false
	}
	return nil
}

// renderedLocally returns an error if the rendering of a component calls a service, or needs the content of an object
// in the cluster. hasSource tells that another source replaces that of the component.
func renderedLocally(c *v1alpha1.Component, hasSource bool) error {
	if c.Spec.Function != nil {
		return exit.BadUsage("the manifest has a function, which render does not call; fairlead plan -f calls it with " +
			"--call-functions")
	}
	if !hasSource && c.Spec.Source.Inline == nil {
		return exit.BadUsage("the manifest has no inline source, and render reads no cluster: give %s", command.TheSource)
	}
	others := c.DeepCopy()
	others.Spec.Source = v1alpha1.Source{}
	for _, ref := range others.References() {
		if !ref.Optional && !ref.Credential {
			return exit.BadUsage("the manifest refers to the %s %q, and render reads no cluster; fairlead plan -f reads it",
				ref.Kind, ref.Name)
		}
	}
	return nil
}
