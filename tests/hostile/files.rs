//! Nothing acknowledged is lost, and nothing outside the folder changes, whatever is done to the files.
