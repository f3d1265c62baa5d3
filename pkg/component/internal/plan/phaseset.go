package plan

import "github.com/fairlead-io/fairlead/pkg/manifests"

// OfPhase separates the objects of a phase from the other objects.
func OfPhase(objects []manifests.Object, phase manifests.Phase) (found, others []manifests.Object) {
	for _, o := range objects {
		if o.Settings.Phase == phase {
			found = append(found, o)
		} else {
			others = append(others, o)
		}
	}
	return found, others
}

// PhaseDigest identifies the objects of the phases of a deletion. The digest is empty if there are no objects.
func PhaseDigest(objects []manifests.Object) (string, error) {
	if len(objects) == 0 {
		return "", nil
	}
	parts := make([]string, 0, len(objects))
	for _, o := range objects {
		parts = append(parts, o.Key.String()+" "+o.Digest)
	}
	return manifests.Digest(parts)
}
