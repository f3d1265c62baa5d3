package related

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writes are the writes in flight, by object. They are not safe for concurrent use.
type writes map[client.ObjectKey]*write

// write is the state of the writes in flight to one object.
type write struct {
	// by counts the writes in flight by component.
	by map[types.NamespacedName]int
	// pending are the passes that wait for the end of the writes: the versions that would start them.
	pending map[types.NamespacedName][]string
}

// begin notes that a component writes an object.
func (w writes) begin(key client.ObjectKey, name types.NamespacedName) {
	of := w[key]
	if of == nil {
		of = &write{by: map[types.NamespacedName]int{}, pending: map[types.NamespacedName][]string{}}
		w[key] = of
	}
	of.by[name]++
}

// hold delays a pass over a component until the response of its write tells whether the write caused a version of the
// object. The version is empty if the object was deleted. hold returns false if the component is not writing the
// object.
func (w writes) hold(key client.ObjectKey, name types.NamespacedName, version string) bool {
	of := w[key]
	if of == nil || of.by[name] == 0 {
		return false
	}
	of.pending[name] = append(of.pending[name], version)
	return true
}

// end notes that a component wrote an object. It returns the versions whose passes were delayed.
func (w writes) end(key client.ObjectKey, name types.NamespacedName) (pending []string) {
	of := w[key]
	of.by[name]--
	if of.by[name] == 0 {
		delete(of.by, name)
	}
	pending = of.pending[name]
	delete(of.pending, name)
	if len(of.by) == 0 {
		delete(w, key)
	}
	return pending
}
