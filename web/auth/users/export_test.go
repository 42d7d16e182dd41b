package users

// Decoy returns the memory cost of the hash that the password for an unknown name is compared
// with.
func (f *File) Decoy(name string) uint32 { return f.decoy(name).memory }
