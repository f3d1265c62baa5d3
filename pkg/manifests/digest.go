package manifests

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

// Digest returns the digest of a JSON value. Equal values have equal digests, in any order of map keys.
func Digest(value any) (string, error) {
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

// digestManifest returns the digest of the content of a manifest, followed by the digest of its settings if it has any.
// So a change of settings can be distinguished from a change of the content; see SameContent. digestManifest does not
// change body.
func digestManifest(body map[string]any, reconciler string) (string, error) {
	content, settings := splitSettings(body, reconciler)
	digest, err := Digest(content)
	if err != nil || len(settings) == 0 {
		return digest, err
	}
	ofSettings, err := Digest(settings)
	if err != nil {
		return "", err
	}
	return digest + settingsMark + ofSettings[:settingsDigestLength], nil
}

// SameContent reports whether two digests stand for equal content. It ignores the settings. It returns false if a
// digest is empty, because an empty digest belongs to an object that was never applied.
func SameContent(a, b string) bool {
	contentA, _, _ := strings.Cut(a, settingsMark)
	contentB, _, _ := strings.Cut(b, settingsMark)
	return contentA != "" && contentA == contentB
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
