package digests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// digestLength is the length of a digest in hexadecimal digits. 16 digits are 64 bits, which are enough to distinguish
// the versions of an object. Longer digests would make inventories larger.
const digestLength = 16

// Of returns the digest of a JSON value. Equal values have equal digests, in any order of map keys.
func Of(value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("the manifest cannot be written as JSON: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:digestLength], nil
}

// settingsDigestLength is the length of the digest of the settings. It is shorter than digestLength, because an object
// has few versions of its settings.
const settingsDigestLength = 8

// settingsMark separates the digest of the content from the digest of the settings.
const settingsMark = "."

// Manifest returns the digest of the content of a manifest, followed by the digest of its settings if it has any.
// So a change of settings can be distinguished from a change of the content; see SameContent. Manifest does not
// change body.
func Manifest(body map[string]any, reconciler string) (string, error) {
	content, settings := splitSettings(body, reconciler)
	digest, err := Of(content)
	if err != nil || len(settings) == 0 {
		return digest, err
	}
	ofSettings, err := Of(settings)
	if err != nil {
		return "", err
	}
	return digest + settingsMark + ofSettings[:settingsDigestLength], nil
}

// SameContent reports whether two digests stand for equal content. It ignores the settings. It returns false if a
// digest is empty, because an empty digest belongs to an object that was never applied.
func SameContent(a, b string) bool {
	content := Content(a)
	return content != "" && content == Content(b)
}

// splitSettings returns the body without its settings, and the settings. If no annotations are left in the content, the
// empty map is removed, so that adding the first setting does not change the content.
func splitSettings(body map[string]any, reconciler string) (content map[string]any, settings map[string]any) {
	metadata, ok := body["metadata"].(map[string]any)
	if !ok {
		return body, nil
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	others := maps.Clone(annotations)
	settings = map[string]any{}
	for key, value := range annotations {
		if strings.HasPrefix(key, reconciler+"/") {
			settings[key] = value
			delete(others, key)
		}
	}
	metadata = maps.Clone(metadata)
	metadata["annotations"] = others
	if len(others) == 0 {
		delete(metadata, "annotations")
	}
	content = maps.Clone(body)
	content["metadata"] = metadata
	return content, settings
}

// Bound returns the digest of an object with bound values: the digest of the content with the values, the digest
// of the settings, and the digest of the content with holes. So a changed value can be distinguished from a changed
// manifest; see Template.
func Bound(digest string, values map[string]any) (string, error) {
	content, settings, _ := strings.Cut(digest, settingsMark)
	bound, err := Of([]any{content, values})
	if err != nil {
		return "", err
	}
	return bound + settingsMark + settings + settingsMark + content, nil
}

// Template returns the digest of the manifest with holes from which an object with the given digest was bound. The
// digest of an object without bound values is returned unchanged.
func Template(digest string) string {
	parts := strings.Split(digest, settingsMark)
	if len(parts) != 3 {
		return digest
	}
	return parts[2] + settingsMark + parts[1]
}

// Occurrence returns the digest of an occurrence of an object: the content digest covers the contents of all
// occurrences and the number, and the digest of the settings stays. So the occurrences have different digests, and a
// change of one content changes the digests of all occurrences.
func Occurrence(digest string, contents []string, number int) (string, error) {
	of, err := Of([]any{contents, number})
	if err != nil {
		return "", err
	}
	if _, settings, found := strings.Cut(digest, settingsMark); found {
		of += settingsMark + settings
	}
	return of, nil
}

// Content returns the digest of the content, without the digest of the settings.
func Content(digest string) string {
	content, _, _ := strings.Cut(digest, settingsMark)
	return content
}
