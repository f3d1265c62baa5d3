package bounded

// CheckAliases returns an error if the aliases in a YAML stream expand to more than limit bytes, if an anchor contains
// itself, or if the stream contains more than 200,000 maps, lists, values and keys, where the content of an anchor
// counts for each alias. Parsers replace an alias by its anchor, so a few hundred bytes can expand to terabytes.
// Strings that contain YAML are checked too, because tools read manifests from strings. Invalid YAML is no error here;
// the parser reports it.
func CheckAliases(text []byte, limit int) error {
	return YAMLNodes(text, Limits{AliasBytes: limit})
}
