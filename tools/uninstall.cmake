# uninstall.cmake: removes what `cmake --install` has put in place, by the list that it leaves in the build directory.
#
#   cmake --build build --target uninstall
#
# Folders that are empty then and bear our name go, too; others stay.
set(manifest ${BUILD}/install_manifest.txt)
if(NOT EXISTS ${manifest})
  message(FATAL_ERROR "nothing was installed from ${BUILD}: there is no ${manifest}")
endif()
file(STRINGS ${manifest} files)
set(folders "")
foreach(file ${files})
  set(path $ENV{DESTDIR}${file})
  if(EXISTS ${path} OR IS_SYMLINK ${path})
    file(REMOVE ${path})
    message(STATUS "Removed: ${path}")
  endif()
  # From the inside out: share/tfprof/sql/views, share/tfprof/sql, share/tfprof.
  get_filename_component(folder ${path} DIRECTORY)
  while(folder MATCHES "/tfprof(/|$)")
    list(APPEND folders ${folder})
    get_filename_component(folder ${folder} DIRECTORY)
  endwhile()
endforeach()
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)
foreach(folder ${folders})
  file(GLOB left ${folder}/*)
  if(IS_DIRECTORY ${folder} AND NOT left)
    file(REMOVE_RECURSE ${folder})
  endif()
endforeach()
