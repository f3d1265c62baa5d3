package kustomize

import (
	"bytes"
	"path"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

// maxCopied is the number of bytes that the operations copy of a JSON patch may copy in an object: a few operations
// that copy a value into itself double it each time. maxCopiedInBuild is the number of bytes for all patches and
// objects of a build.
const (
	maxCopied        = 1 << 20
	maxCopiedInBuild = 4 << 20
)

// limitCopies sets the limit of each patch of the running build. The library of JSON patches has this limit only as a
// global variable, and does not report how much a patch copied. So each operation copy gets an equal share for each
// object. The caller must hold the lock building.
func limitCopies(operations, objects int) {
	share := maxCopiedInBuild / (max(operations, 1) * max(objects, 1))
	jsonpatch.AccumulatedCopySizeLimit = int64(min(max(share, 1), maxCopied))
}

// copiesIn returns the number of operations copy in a text of a patch, which it decodes as kustomize does. It returns 0
// for a text that is not a JSON patch.
func copiesIn(patch []byte) int {
	if text := bytes.TrimSpace(patch); len(text) == 0 || text[0] != '[' {
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			return 0
		}
		patch = asJSON
	}
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return 0
	}
	copies := 0
	for _, operation := range operations {
		if operation.Kind() == "copy" {
			copies++
		}
	}
	return copies
}

// patches counts the operations copy of the patches in a kustomization file.
func (r *references) patches(file string, k kustomization) {
	for _, patch := range k.Patches {
		text := []byte(patch.Patch)
		if patch.Path != "" {
			// filesOf reports a file that cannot be read.
			text, _ = r.tree.read(path.Join(path.Dir(file), patch.Path))
		}
		r.tree.copies[file] += copiesIn(text)
	}
	r.tree.objects[file] = len(k.generators())
}

// objectsIn returns an upper bound of the objects that a file makes. The text of an object contains its kind, unless it
// uses aliases or escape sequences. An object has at least four keys and values.
func (t *tree) objectsIn(name string, content []byte) int {
	if objects, known := t.objects[name]; known {
		return objects
	}
	const nodesOfObject = 4
	if bytes.ContainsAny(content, `*\`) {
		return t.nodes[name] / nodesOfObject
	}
	return bytes.Count(content, []byte("kind"))
}
