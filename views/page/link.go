package page

// A LinkTarget is an entity that a client has a link to, and the kind of the link.
type LinkTarget struct {
	Name, Href string
	Sends      bool
	Manages    bool // for requests to the entity's $management
}
