// Package openapi has the parts of OpenAPI 3.1 that a JSON API of Go structs needs, and
// describes such structs by reflection: their members as encoding/json writes them, with the
// comments of their fields in the source.
//
//	Document   an API: its operations, with their requests and answers
//	Schemas    creates the Schema of a Go type
//	Comments   the comments of a package's structs
//
// It depends on no particular API.
package openapi

// Version is the OpenAPI version of documents.
const Version = "3.1.0"

// A Document describes an API. It is marshalled by encoding/json; fields whose tag is "-" are
// for the pages that show it.
type Document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       Info                             `json:"info"`
	Servers    []Server                         `json:"servers,omitempty"`
	Tags       []Tag                            `json:"tags,omitempty"`
	Paths      map[string]map[string]*Operation `json:"paths"` // by path, then by method in lower case
	Components Components                       `json:"components"`

	Ordered []*Operation `json:"-"` // the operations of Paths, in reading order
}

// Info names the API.
type Info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
}

// A Server is the address of the API.
type Server struct {
	URL string `json:"url"` // may be relative to the document's
}

// A Tag is a heading over operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Components are the schemas that have names.
type Components struct {
	Schemas map[string]*Schema `json:"schemas"`
}

// An Operation is a method at a path.
type Operation struct {
	ID          string               `json:"operationId"`
	Tags        []string             `json:"tags,omitempty"`
	Summary     string               `json:"summary,omitempty"`
	Description string               `json:"description,omitempty"`
	Parameters  []Parameter          `json:"parameters,omitempty"`
	RequestBody *RequestBody         `json:"requestBody,omitempty"`
	Responses   map[string]*Response `json:"responses"` // by status

	Method string `json:"-"` // in upper case
	Path   string `json:"-"`
	Status string `json:"-"` // of a successful answer

	Example Example `json:"-"` // the whole of a request; its parts are also the examples of parameters and bodies
}

// An Example is a request that succeeds.
type Example struct {
	Address string // below the server's address, with its query
	Body    string // empty if none is sent
}

// A Parameter is part of an address.
type Parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"` // path or query
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Schema      *Schema `json:"schema"`
	Example     any     `json:"example,omitempty"`
	Role        string  `json:"x-role,omitempty"` // the role that a request with the parameter needs; empty means the operation's
}

// A RequestBody describes the body of a request.
type RequestBody struct {
	Description  string           `json:"description,omitempty"`
	Required     bool             `json:"required,omitempty"`
	Content      map[string]Media `json:"content"`                        // by media type
	MaxBytes     int64            `json:"x-maximum-bytes,omitempty"`      // zero means unlimited
	MaxLineBytes int64            `json:"x-maximum-line-bytes,omitempty"` // of a body of lines
}

// A Response describes an answer.
type Response struct {
	Description string           `json:"description"`
	Content     map[string]Media `json:"content,omitempty"` // by media type
}

// A Media describes the content of a body, or of each line of a body of lines.
type Media struct {
	Schema  *Schema `json:"schema"`
	Example any     `json:"example,omitempty"` // text for a body of lines
}
