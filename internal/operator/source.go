package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/lru"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// Bounds of the cache of unpacked archives: 64 MiB in total. Larger archives are unpacked for each rendering.
const (
	cachedFolders     = 16
	cachedFolderBytes = 4 << 20
)

const archiveSuffix = ".tgz"

// folderKey identifies a folder by the content of its archive.
type folderKey struct {
	archive [sha256.Size]byte
	path    string
}

// archiveCache caches unpacked archives. Several components may share an archive, and a component needs the same
// archive again when its values change.
type archiveCache struct{ unpacked *lru.Cache }

func newArchiveCache() *archiveCache { return &archiveCache{unpacked: lru.New(cachedFolders)} }

// folderFor returns the folder of spec.source and spec.path. If the source is outside the cluster, fetched is its
// content, and otherwise nil.
func (c *archiveCache) folderFor(
	component *v1alpha1.Component, references generator.References, fetched fs.FS,
) (folder, error) {
	switch spec := component.Spec.Source; {
	case fetched != nil:
		return folderOf(fetched, component.Spec.Path)
	case spec.Inline != nil:
		files := make(map[string][]byte, len(spec.Inline.Files))
		for name, content := range spec.Inline.Files {
			files[name] = []byte(content)
		}
		tree, err := source.FromFiles(files)
		if err != nil {
			return folder{}, fmt.Errorf("spec.source.inline: %w", err)
		}
		return folderOf(tree, component.Spec.Path)
	case spec.ConfigMap != nil:
		reference := generator.Reference{
			Kind: metav1alpha1.ConfigMapReference, Namespace: component.Namespace, Name: spec.ConfigMap.Name,
		}
		data, found := references[reference]
		if !found {
			return folder{}, fmt.Errorf("spec.source.configMap: %s: not found", describe(reference))
		}
		return c.fromConfigMap(reference, data, component.Spec.Path)
	case spec.ConfigMaps != nil:
		return c.fromConfigMaps(component, references)
	case spec.HTTP != nil:
		return folder{}, errors.New("spec.source.http: the archive was not fetched")
	}
	return folder{}, fmt.Errorf("spec.source: none of inline, configMap, configMaps and http is set")
}

func (c *archiveCache) fromConfigMap(
	reference generator.Reference, data map[string][]byte, path string,
) (folder, error) {
	where := "spec.source.configMap: " + describe(reference)
	archive, err := archiveKey(data)
	if err != nil {
		return folder{}, fmt.Errorf("%s: %w", where, err)
	}
	if archive != "" {
		unpacked, err := c.unpack(data[archive], path)
		if err != nil {
			return folder{}, fmt.Errorf("%s, key %q: %w", where, archive, err)
		}
		return unpacked, nil
	}
	files, err := source.FromFiles(data)
	if err != nil {
		return folder{}, fmt.Errorf("%s: %w", where, err)
	}
	return folderOf(files, path)
}

// fromConfigMaps joins the parts of an archive in the order of their names. The digest in the spec shows whether all
// parts belong together.
func (c *archiveCache) fromConfigMaps(
	component *v1alpha1.Component, references generator.References,
) (folder, error) {
	const where = "spec.source.configMaps"
	var archive []byte
	for _, name := range component.Spec.Source.ConfigMaps.Names {
		reference := generator.Reference{
			Kind: metav1alpha1.ConfigMapReference, Namespace: component.Namespace, Name: name,
		}
		data, found := references[reference]
		switch {
		case !found:
			return folder{}, fmt.Errorf("%s: %s: not found", where, describe(reference))
		case len(data) != 1:
			return folder{}, fmt.Errorf("%s: %s: it has %d keys; want a single key, with a part of the archive", where,
				describe(reference), len(data))
		}
		for _, part := range data {
			archive = append(archive, part...)
		}
	}
	sum := sha256.Sum256(archive)
	if got, want := hex.EncodeToString(sum[:]), component.Spec.Source.ConfigMaps.SHA256; got != want {
		return folder{}, fmt.Errorf("%s: the joined parts have the SHA-256 %s, want %s; a part was replaced, is missing, "+
			"or is at another place in the list: apply the source again", where, got, want)
	}
	unpacked, err := c.unpack(archive, component.Spec.Path)
	if err != nil {
		return folder{}, fmt.Errorf("%s: %w", where, err)
	}
	return unpacked, nil
}

// archiveKey returns the key of an archive in data. It returns an empty key if each key of data contains a file.
func archiveKey(data map[string][]byte) (string, error) {
	if len(data) == 0 {
		return "", fmt.Errorf("no files; want a file for each key, or a single key that ends in %s", archiveSuffix)
	}
	keys := slices.Sorted(maps.Keys(data))
	for _, key := range keys {
		switch {
		case strings.HasSuffix(key, ".tar.gz"):
			return "", fmt.Errorf("key %q: an archive must have a key that ends in %s", key, archiveSuffix)
		case strings.HasSuffix(key, archiveSuffix) && len(keys) > 1:
			return "", fmt.Errorf("key %q: an archive must be the only key; the keys are %s", key,
				strings.Join(keys, ", "))
		case strings.HasSuffix(key, archiveSuffix):
			return key, nil
		}
	}
	return "", nil
}

func (c *archiveCache) unpack(archive []byte, path string) (folder, error) {
	key := folderKey{archive: sha256.Sum256(archive), path: path}
	if cached, _ := c.unpacked.Get(key); cached != nil {
		if known, ok := cached.(folder); ok {
			return known, nil
		}
	}
	tree, err := source.Unpack(archive, source.Limits{})
	if err != nil {
		return folder{}, err
	}
	found, err := folderOf(tree, path)
	if err != nil {
		return folder{}, err
	}
	size, err := source.Size(tree)
	if err != nil {
		return folder{}, err
	}
	if size <= cachedFolderBytes {
		c.unpacked.Add(key, found)
	}
	return found, nil
}

func describe(reference generator.Reference) string {
	return fmt.Sprintf("%s %s/%s", reference.Kind, reference.Namespace, reference.Name)
}
