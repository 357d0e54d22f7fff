# cmake -D WEB= -D PAGE= -D NPM= -D NODE= -P build_page.cmake: PAGE/dist from WEB; NPM empty: without.
# What npm brings lies in PAGE/node_modules and is brought again only when the lock file has changed.

set(dist ${PAGE}/dist)
file(MAKE_DIRECTORY ${dist})

# The page that explains why there is none, and nothing else.
macro(go_without why)
  if(NOT "${why}" STREQUAL "")
    message("berth: built without its web page: ${why}")
    message("berth: to try again: rm -r ${PAGE}, and build")
    file(WRITE ${PAGE}/absent "${why}\n")
  endif()
  configure_file(${WEB}/absent.html ${dist}/index.html COPYONLY)
  execute_process(COMMAND gzip -9 -n -f -k ${dist}/index.html COMMAND_ERROR_IS_FATAL ANY)
  # ninja goes by times: what stays the same is newer than its sources all the same.
  file(TOUCH ${dist}/index.html.gz)
  file(SHA256 ${dist}/index.html hash)
  string(SUBSTRING ${hash} 0 20 hash)
  file(WRITE ${dist}/index.html.etag "\"${hash}\"")
  foreach(name page.js page.css icon.svg)
    file(WRITE ${dist}/${name}.gz "")
    file(WRITE ${dist}/${name}.etag "")
  endforeach()
  return()
endmacro()

if(NOT NPM)
  go_without("")
endif()

file(SHA256 ${WEB}/package-lock.json wanted)
set(have "")
if(EXISTS ${PAGE}/installed)
  file(READ ${PAGE}/installed have)
endif()
if(NOT have STREQUAL wanted)
  file(COPY ${WEB}/package.json ${WEB}/package-lock.json DESTINATION ${PAGE})
  # esbuild's program is an optional package of its own: nobody's scripts need to run.
  execute_process(
    COMMAND ${NPM} ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
            --prefer-offline --fetch-retries=1
            --fetch-retry-mintimeout=1000 --fetch-timeout=60000
    WORKING_DIRECTORY ${PAGE}
    RESULT_VARIABLE failed
    OUTPUT_FILE ${PAGE}/npm.log
    ERROR_FILE ${PAGE}/npm.log)
  if(failed)
    go_without("npm could not bring what it needs (${PAGE}/npm.log)")
  endif()
  file(WRITE ${PAGE}/installed ${wanted})
endif()

execute_process(COMMAND ${NODE} ${WEB}/build.mjs ${PAGE}/node_modules ${dist} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the page does not build: see above")
endif()
