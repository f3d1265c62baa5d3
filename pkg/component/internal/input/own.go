package input

import (
	"cmp"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// WithoutOwn returns a digest of the inputs that the component does not write itself, and the objects of the others:
// they are among its dependents, so that a rendering can change them. A value of an event source that comes from
// several objects counts as written by the component if one of them does. Without such objects, the digest is
// in.Digest.
func (in Inputs) WithoutOwn(isDependent func(manifests.Key) bool) (digest string, own []manifests.Key, err error) {
	others := in
	others.References, others.EventSources = nil, nil
	for _, ref := range in.References {
		if key := ref.key(); isDependent(key) {
			own = append(own, key)
		} else {
			others.References = append(others.References, ref)
		}
	}
	for _, e := range in.EventSources {
		before := len(own)
		for _, key := range e.Objects {
			if isDependent(key) {
				own = append(own, key)
			}
		}
		if len(own) == before {
			others.EventSources = append(others.EventSources, e)
		}
	}
	if len(own) == 0 {
		return in.Digest, nil, nil
	}
	digest, err = (&Reader{}).Identify(others)
	return digest, own, err
}

// WithoutEventSources returns the digest of the inputs without the values of event sources.
func (in Inputs) WithoutEventSources() (digest string, err error) {
	if len(in.EventSources) == 0 {
		return in.Digest, nil
	}
	in.EventSources = nil
	return (&Reader{}).Identify(in)
}

// key returns the key of the referenced object.
func (r Reference) key() manifests.Key {
	return manifests.Key{
		Group: r.watched.Resource.Group, Kind: cmp.Or(r.kind, string(r.Kind)), Namespace: r.Namespace, Name: r.Name,
	}
}
