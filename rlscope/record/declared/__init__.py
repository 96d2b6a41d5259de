"""What libraries declare: the kinds of declarations, and how each is put in place once its library is imported."""
